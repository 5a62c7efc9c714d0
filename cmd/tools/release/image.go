package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// The hub's image, as an OCI layout in a tar file, for all systems of Linux that
// are built. No engine makes it: it is the program, whom it trusts, and a folder
// that is its own.
const (
	indexType    = "application/vnd.oci.image.index.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// descriptor names a blob of the layout.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    map[string]string `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// layout is what is in the tar file.
type layout struct{ files []file }

func (l *layout) blob(mediaType string, data []byte) descriptor {
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	l.files = append(l.files, file{"blobs/sha256/" + digest, 0o644, data})
	return descriptor{MediaType: mediaType, Digest: "sha256:" + digest, Size: len(data)}
}

func (l *layout) json(mediaType string, v any) (descriptor, error) {
	data, err := json.Marshal(v)
	return l.blob(mediaType, data), err
}

// Image is the name of the hub's image.
func (r *release) Image() string { return "acp-bridge-hub_" + r.Version() + "_oci.tar" }

func (r *release) writeImage() error {
	settings, err := os.ReadFile(filepath.Join(r.Source, "cmd", "acp-bridge-hub", "Containerfile"))
	if err != nil {
		return err
	}
	config, err := imageConfig(string(settings))
	if err != nil {
		return err
	}
	config["Labels"] = r.labels()
	var l layout
	var manifests []descriptor
	for _, t := range r.Targets {
		if t.OS == "linux" {
			m, err := r.manifest(&l, t, config)
			if err != nil {
				return err
			}
			manifests = append(manifests, m)
		}
	}
	if len(manifests) == 0 {
		return nil
	}
	index, err := l.json(indexType, map[string]any{"schemaVersion": 2, "mediaType": indexType, "manifests": manifests})
	if err != nil {
		return err
	}
	index.Annotations = map[string]string{"org.opencontainers.image.ref.name": r.Version()}
	data, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": indexType, "manifests": []descriptor{index}})
	if err != nil {
		return err
	}
	files := append([]file{{"oci-layout", 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`)}, {"index.json", 0o644, data}}, l.files...)
	var b bytes.Buffer
	if err := writeTar(&b, files); err != nil {
		return err
	}
	return r.give(r.Image(), b.Bytes())
}

func (r *release) labels() map[string]string {
	l := map[string]string{"org.opencontainers.image.title": "acp-bridge-hub", "org.opencontainers.image.version": r.Version(),
		"org.opencontainers.image.revision": r.Commit, "org.opencontainers.image.source": r.Repository}
	if r.License != "" {
		l["org.opencontainers.image.licenses"] = r.License
	}
	return l
}

// manifest is the image for one system.
func (r *release) manifest(l *layout, t target, config map[string]any) (d descriptor, err error) {
	hub, err := os.ReadFile(r.program(t, "acp-bridge-hub"))
	if err != nil {
		return d, err
	}
	files := []file{
		{"bin/acp-bridge-hub", 0o755, hub},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, roots()},
		{"data/", 0o755, nil},
	}
	var plain, packed bytes.Buffer
	if err := writeTar(&plain, files); err != nil {
		return d, err
	}
	if err := packTar(&packed, files); err != nil {
		return d, err
	}
	sum := sha256.Sum256(plain.Bytes())
	c, err := l.json(configType, map[string]any{
		"architecture": t.Arch, "os": t.OS, "config": config,
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(sum[:])}},
	})
	if err != nil {
		return d, err
	}
	d, err = l.json(manifestType, map[string]any{
		"schemaVersion": 2, "mediaType": manifestType, "config": c, "layers": []descriptor{l.blob(layerType, packed.Bytes())},
	})
	d.Platform = map[string]string{"os": t.OS, "architecture": t.Arch}
	return d, err
}

// roots are the certificates that Mozilla trusts without a condition.
func roots() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // into memory
		}
	}
	return b.Bytes()
}

// imageConfig is what the hub's container file says about the image it ends with.
// Both make the same image, so it is said once.
func imageConfig(containerfile string) (map[string]any, error) {
	_, last, found := strings.Cut(containerfile, "\nFROM scratch\n")
	if !found {
		return nil, fmt.Errorf("the hub's container file has no FROM scratch")
	}
	config := map[string]any{}
	for line := range strings.Lines(last) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "ENV":
			config["Env"] = strings.Fields(rest)
		case "USER":
			config["User"] = rest
		case "VOLUME":
			config["Volumes"] = map[string]any{rest: struct{}{}}
		case "EXPOSE":
			config["ExposedPorts"] = map[string]any{rest + "/tcp": struct{}{}}
		case "ENTRYPOINT":
			var words []string
			if err := json.Unmarshal([]byte(rest), &words); err != nil {
				return nil, fmt.Errorf("the hub's container file: %w", err)
			}
			config["Entrypoint"] = words
		case "COPY", "":
		default:
			return nil, fmt.Errorf("the hub's container file: what is %s?", word)
		}
	}
	return config, nil
}
