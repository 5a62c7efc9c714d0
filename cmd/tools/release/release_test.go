package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"debug/buildinfo"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// source makes a repository with the texts that a release of v1.2.3 needs.
func source(t *testing.T) string {
	dir := t.TempDir()
	hub, err := os.ReadFile("../../acp-bridge-hub/Containerfile")
	require.NoError(t, err)
	for name, text := range map[string]string{
		"README.md": "# Us\n", "SECURITY.md": "# Safe\n", "CHANGELOG.md": "# Changes\n\n## 1.2.3 (today)\n\n- new\n\n## 1.2\n\n- old\n",
		beside + "/go.mod":                 "require (\n\tgithub.com/acp-bridge/acp-bridge v1.2.3\n)\n",
		"cmd/acp-bridge-hub/Containerfile": string(hub),
	} {
		name = filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	return dir
}

// makeRelease makes a release whose programs are short scripts that say who they
// are.
func makeRelease(t *testing.T, list []target) *release {
	r := &release{Source: source(t), Out: t.TempDir(), Tag: "v1.2.3", Repository: "https://example.org/acp-bridge", Commit: "0123456789abcdef", RegistryID: "our-entry", Targets: list, Programs: programs}
	r.Build = func(_ context.Context, _ target, name, path string) error {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.WriteFile(path, []byte("#!/bin/sh\necho "+name+" $*\nexit 7\n"), 0o755)
	}
	r.Inspect = func(string) (*buildinfo.BuildInfo, error) {
		info, _ := debug.ReadBuildInfo()
		return info, nil
	}
	require.NoError(t, r.build(t.Context()))
	require.NoError(t, r.write())
	return r
}

func read(t *testing.T, r *release, name string) []byte {
	data, err := os.ReadFile(filepath.Join(r.Out, filepath.FromSlash(name)))
	require.NoError(t, err)
	return data
}

func readJSON(t *testing.T, r *release, name string) (v map[string]any) {
	require.NoError(t, json.Unmarshal(read(t, r, name), &v))
	return v
}

// The checksums are those of the archives, and the archives hold the programs.
func TestArchives(t *testing.T) {
	r := makeRelease(t, targets)
	lines := strings.Split(strings.TrimSpace(string(read(t, r, "SHA256SUMS"))), "\n")
	require.Len(t, lines, 2*len(targets)+2, "archives and what is in them, the image, the provenance")
	for _, line := range lines {
		sum, name, _ := strings.Cut(line, "  ")
		require.Equal(t, fmt.Sprintf("%x", sha256.Sum256(read(t, r, name))), sum)
	}
	for _, target := range targets {
		want := []string{"acp-bridge" + target.Exe(), "acp-bridge-hub" + target.Exe(), "README.md", "CHANGELOG.md", "SECURITY.md"}
		require.Equal(t, want, inArchive(t, read(t, r, r.Archive(target))), target)
	}
}

func inArchive(t *testing.T, data []byte) (names []string) {
	if z, err := zip.NewReader(bytes.NewReader(data), int64(len(data))); err == nil {
		for _, f := range z.File {
			names = append(names, f.Name)
		}
		return names
	}
	g, err := gzip.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	for r := tar.NewReader(g); ; {
		h, err := r.Next()
		if err == io.EOF {
			return names
		}
		require.NoError(t, err)
		require.Zero(t, h.Uid)
		if strings.HasPrefix(h.Name, "acp-") {
			require.EqualValues(t, 0o755, h.Mode)
		}
		names = append(names, h.Name)
	}
}

// What people install depends on a carrier for each system, and node runs the one
// that fits: arguments, output and exit code go through.
func TestNPM(t *testing.T) {
	r := makeRelease(t, targets)
	main := readJSON(t, r, "npm/acp-bridge/package.json")
	require.Equal(t, "1.2.3", main["version"])
	require.Len(t, main["optionalDependencies"], len(targets))
	for _, target := range targets {
		carrier := readJSON(t, r, "npm/"+target.Package()+"/package.json")
		require.Equal(t, main["optionalDependencies"].(map[string]any)[target.Package()], carrier["version"])
		require.Equal(t, []any{target.NodeOS}, carrier["os"])
		require.Equal(t, []any{target.NodeArch}, carrier["cpu"])
	}
	if _, err := exec.LookPath("node"); err != nil || runtime.GOOS == "windows" {
		t.Skip("node is not here")
	}
	modules := filepath.Join(t.TempDir(), "node_modules")
	require.NoError(t, os.CopyFS(modules, os.DirFS(filepath.Join(r.Out, "npm"))))
	require.NoError(t, filepath.WalkDir(modules, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.Contains(path, "/bin/") {
			err = os.Chmod(path, 0o755)
		}
		return err
	}))
	launcher := filepath.Join(modules, "acp-bridge", "acp-bridge.js")
	out, err := exec.Command("node", launcher, "demo", "--wire").Output()
	require.Equal(t, "acp-bridge demo --wire\n", string(out))
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 7, exit.ExitCode())
	for _, target := range targets { // and without its carrier it says so
		require.NoError(t, os.RemoveAll(filepath.Join(modules, target.Package())))
	}
	err = exec.Command("node", launcher).Run()
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 1, exit.ExitCode())
	require.Empty(t, exit.Stderr)
}

// The registry's rules: a name of small letters, a plain version, https addresses
// of archives that exist, a program in each, an icon of 16 by 16 in one colour.
func TestRegistry(t *testing.T) {
	r := makeRelease(t, targets)
	entry := readJSON(t, r, "registry/our-entry/agent.json")
	require.Regexp(t, `^[a-z][a-z0-9-]*$`, entry["id"])
	require.Regexp(t, `^\d+\.\d+\.\d+$`, entry["version"])
	distribution := entry["distribution"].(map[string]any)
	require.Equal(t, map[string]any{"package": "acp-bridge@1.2.3"}, distribution["npx"])
	binary := distribution["binary"].(map[string]any)
	require.Len(t, binary, len(targets))
	for _, target := range targets {
		b := binary[target.Registry].(map[string]any)
		base := r.Repository + "/releases/download/v1.2.3/"
		name, ok := strings.CutPrefix(b["archive"].(string), base)
		require.True(t, ok)
		require.Contains(t, inArchive(t, read(t, r, name)), strings.TrimPrefix(b["cmd"].(string), "./"))
	}
	var icon struct {
		Width  int `xml:"width,attr"`
		Height int `xml:"height,attr"`
	}
	svg := read(t, r, "registry/our-entry/icon.svg")
	require.NoError(t, xml.Unmarshal(svg, &icon))
	require.Equal(t, [2]int{16, 16}, [2]int{icon.Width, icon.Height})
	require.Contains(t, string(svg), "currentColor")
	require.NotContains(t, string(svg), "#")
}

// The formula names the archives that were made, with their checksums.
func TestFormula(t *testing.T) {
	r := makeRelease(t, targets)
	formula := string(read(t, r, "homebrew/acp-bridge.rb"))
	found := regexp.MustCompile(`url "(.*)"\n\s+sha256 "(.*)"`).FindAllStringSubmatch(formula, -1)
	require.Len(t, found, 4)
	for _, f := range found {
		require.Equal(t, r.Sums[filepath.Base(f[1])], f[2])
	}
	require.Contains(t, formula, "on_macos do\n    on_intel do")
	require.Len(t, regexp.MustCompile(`(?m)( do$| do \||^\s*def |^class )`).FindAllString(formula, -1), strings.Count(formula, "end\n"))
	if path, err := exec.LookPath("ruby"); err == nil {
		out, err := exec.Command(path, "-c", filepath.Join(r.Out, "homebrew/acp-bridge.rb")).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	container := string(read(t, r, "container/Containerfile"))
	require.Contains(t, container, "acp-bridge@1.2.3 ")
	require.Regexp(t, `(?m)^USER node$`, container)
	require.Regexp(t, `(?m)^ENTRYPOINT \["acp-bridge"\]$`, container)
}

func TestUsage(t *testing.T) {
	require.ErrorContains(t, run(t.Context(), source(t), []string{"--version", "1.2"}), `--version must be like v1.2.3, got "1.2"`)
	require.ErrorContains(t, run(t.Context(), source(t), []string{"--version", "v1.2.3", "--targets", "plan9/amd64"}), `unknown target "plan9/amd64": expected one of linux/amd64, `)
	require.ErrorContains(t, run(t.Context(), source(t), []string{"--version", "v1.2.3", "--license", "see below!"}), `--license must be an SPDX name such as MIT or Apache-2.0, got "see below!"`)
	require.ErrorContains(t, run(t.Context(), source(t), []string{"--version", "v1.2.3", "--registry-id", "Ours"}), `--registry-id must be of small letters, digits and dashes, got "Ours"`)
	require.ErrorContains(t, run(t.Context(), source(t), []string{"--version", "v1.2.3"}), "--commit names it where there is no git")
	require.ErrorIs(t, run(t.Context(), source(t), []string{"--version", "v1.2.3", "--commit", "abc", "--out", t.TempDir()}), os.ErrExist)
}

// As the README gives it, without a version, it is the newest one of the changelog.
func TestNewest(t *testing.T) {
	dir := source(t)
	tag, err := newest(dir)
	require.NoError(t, err)
	require.Equal(t, "v1.2.3", tag)
	require.ErrorIs(t, run(t.Context(), dir, []string{"--commit", "abc", "--out", t.TempDir()}), os.ErrExist, "up to making the folder all was well")

	changelog := filepath.Join(dir, "CHANGELOG.md")
	require.NoError(t, os.WriteFile(changelog, []byte("# Changes\n\n## Unreleased\n\n- new\n"), 0o600))
	require.ErrorContains(t, run(t.Context(), dir, nil), "CHANGELOG.md has no section of a version")
	require.NoError(t, os.WriteFile(changelog, []byte("## 1.2\n"), 0o600))
	require.ErrorContains(t, run(t.Context(), dir, nil), `got "v1.2"`)
}

// What is in the programs is Go's own record: each module with its checksum, and
// Go. The provenance covers all that people download, and names the commit.
func TestContents(t *testing.T) {
	r := makeRelease(t, targets)
	info, _ := debug.ReadBuildInfo()
	for _, target := range targets {
		var b bom
		require.NoError(t, json.Unmarshal(read(t, r, r.SBOM(target)), &b))
		require.Equal(t, r.Sum(target), b.Metadata.Component.Hashes[0].Content)
		require.Len(t, b.Components, len(programs)+1+len(info.Deps))
		require.Len(t, b.Needs, 1+len(programs))
		known := map[string]bool{}
		for _, c := range b.Components {
			require.False(t, known[c.Ref], c.Ref)
			known[c.Ref] = true
		}
		for _, n := range b.Needs {
			for _, ref := range n.Uses {
				require.True(t, known[ref], ref)
			}
		}
		require.True(t, known["pkg:golang/"+info.Deps[0].Path+"@"+info.Deps[0].Version])
	}
	var s statement
	require.NoError(t, json.Unmarshal(read(t, r, provenanceName), &s))
	require.Len(t, s.Subject, len(r.Sums)-1, "all but itself")
	for _, subject := range s.Subject {
		require.Equal(t, r.Sums[subject.Name], subject.Digest["sha256"])
	}
	require.Equal(t, r.Commit, s.Predicate.Build.Dependencies[0].Digest["gitCommit"])
}

// The image is the one of the hub's container file: blobs under their own sums, an
// index of the two systems, a user who is not root and owns /data.
func TestImage(t *testing.T) {
	r := makeRelease(t, targets)
	blobs := map[string][]byte{}
	for tr := tar.NewReader(bytes.NewReader(read(t, r, r.Image()))); ; {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		data, err := io.ReadAll(tr)
		require.NoError(t, err)
		blobs[h.Name] = data
		if sum, ok := strings.CutPrefix(h.Name, "blobs/sha256/"); ok {
			require.Equal(t, fmt.Sprintf("%x", sha256.Sum256(data)), sum)
		}
	}
	follow := func(d descriptor, v any) {
		data := blobs["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]
		require.Len(t, data, d.Size)
		require.NoError(t, json.Unmarshal(data, v))
	}
	var top, index struct{ Manifests []descriptor }
	require.NoError(t, json.Unmarshal(blobs["index.json"], &top))
	follow(top.Manifests[0], &index)
	require.Len(t, index.Manifests, 2)
	for _, m := range index.Manifests {
		var manifest struct {
			Config descriptor
			Layers []descriptor
		}
		var config struct {
			Architecture string
			Config       struct {
				User            string
				Env, Entrypoint []string
				Volumes         map[string]any
			}
		}
		follow(m, &manifest)
		follow(manifest.Config, &config)
		require.Equal(t, m.Platform["architecture"], config.Architecture)
		require.Equal(t, "1000:1000", config.Config.User)
		require.Equal(t, "acp-bridge-hub", config.Config.Entrypoint[0])
		require.Contains(t, config.Config.Env, "PATH=/bin")
		require.Contains(t, config.Config.Volumes, "/data")
		require.Len(t, manifest.Layers, 1)
		z, err := gzip.NewReader(bytes.NewReader(blobs["blobs/sha256/"+strings.TrimPrefix(manifest.Layers[0].Digest, "sha256:")]))
		require.NoError(t, err)
		var names []string
		for tr := tar.NewReader(z); ; {
			h, err := tr.Next()
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
			names = append(names, fmt.Sprint(h.Name, h.Uid))
		}
		require.Equal(t, []string{"bin/acp-bridge-hub0", "etc/ssl/certs/ca-certificates.crt0", "data/1000"}, names)
	}
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(roots()))
}

// A release needs its texts: notes, a LICENSE for the licence that is named, and a
// module beside that names the same version.
func TestDocuments(t *testing.T) {
	r := makeRelease(t, targets[:1])
	require.Equal(t, "- new\n", string(read(t, r, "NOTES.md")))
	require.Equal(t, "UNLICENSED", readJSON(t, r, "npm/acp-bridge/package.json")["license"])
	require.NotContains(t, string(read(t, r, "homebrew/acp-bridge.rb")), "license")

	r.License = "MIT"
	require.ErrorContains(t, r.build(t.Context()), "--license MIT: its text must be in LICENSE: ")
	require.NoError(t, os.WriteFile(filepath.Join(r.Source, "LICENSE"), []byte("do\n"), 0o600))
	require.NoError(t, r.build(t.Context()))
	require.NoError(t, r.write())
	require.Equal(t, "MIT", readJSON(t, r, "npm/acp-bridge/package.json")["license"])
	require.Contains(t, string(read(t, r, "homebrew/acp-bridge.rb")), "\n  license \"MIT\"\n")
	require.Contains(t, inArchive(t, read(t, r, r.Archive(targets[0]))), "LICENSE")

	for tag, want := range map[string]string{
		"v1.2.4": `CHANGELOG.md has no section "## 1.2.4"`,
		"v1.2":   "must require github.com/acp-bridge/acp-bridge v1.2, or nobody can get that module",
	} {
		r.Tag = tag
		require.ErrorContains(t, r.build(t.Context()), want)
	}
	_, err := section("## 1.0.0\n\n## 0.9.0\n- x\n", "1.0.0")
	require.ErrorContains(t, err, "says nothing")
}

// The texts of this repository are those of its next release.
func TestOurDocuments(t *testing.T) {
	tag, err := newest("../../..")
	require.NoError(t, err)
	r := release{Source: "../../..", Tag: tag}
	_, err = r.readDocuments()
	require.NoError(t, err)
}
