package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
)

//go:embed templates
var templates embed.FS

// about is what everybody says of the program.
const about = "Claude Code in every ACP editor, its questions included"

// About is the same for templates.
func (r *release) About() string { return about }

// write makes everything but the programs: the npm packages around them, what
// others need to install it, what is in it and where it is from, and checksums.
func (r *release) write() error {
	for _, part := range []func() error{r.writeNPM, r.writeFiles, r.writeImage, r.writeSBOMs, r.writeProvenance, r.writeSums} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// writeSums comes last: it covers all that people download.
func (r *release) writeSums() error {
	var sums strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.Sums)) {
		sums.WriteString(r.Sums[name] + "  " + name + "\n")
	}
	return r.put("SHA256SUMS", []byte(sums.String()))
}

func (r *release) writeFiles() error {
	if err := r.put("NOTES.md", []byte(r.texts.notes)); err != nil {
		return err
	}
	if err := r.putJSON("registry/"+r.RegistryID+"/agent.json", r.entry()); err != nil {
		return err
	}
	for name, to := range map[string]string{
		"acp-bridge.rb": "homebrew/acp-bridge.rb", "Containerfile": "container/Containerfile", "icon.svg": "registry/" + r.RegistryID + "/icon.svg",
	} {
		if err := r.fill(name, to, r); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) put(name string, data []byte) error {
	path := filepath.Join(r.Out, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

func (r *release) putJSON(name string, v any) error {
	data, err := encode(v)
	if err != nil {
		return err
	}
	return r.put(name, data)
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return b.Bytes(), err
}

// fill writes a template.
func (r *release) fill(name, to string, data any) error {
	t, err := template.New(name).Option("missingkey=error").ParseFS(templates, "templates/"+name)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return err
	}
	return r.put(to, b.Bytes())
}
