package main

import (
	"bytes"
	"embed"
	"encoding/json"
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

// write makes everything but the programs: checksums, the npm packages around
// them, and what others need to install it.
func (r *release) write() error {
	names := make([]string, 0, len(r.Sums))
	for name := range r.Sums {
		names = append(names, name)
	}
	slices.Sort(names)
	var sums strings.Builder
	for _, name := range names {
		sums.WriteString(r.Sums[name] + "  " + name + "\n")
	}
	if err := r.put("SHA256SUMS", []byte(sums.String())); err != nil {
		return err
	}
	for _, t := range r.Targets {
		if err := r.putJSON("npm/"+t.Package()+"/package.json", r.carrier(t)); err != nil {
			return err
		}
	}
	if err := r.putJSON("npm/acp-bridge/package.json", r.launcher()); err != nil {
		return err
	}
	if err := r.putJSON("registry/"+registryID+"/agent.json", r.entry()); err != nil {
		return err
	}
	for name, to := range map[string]string{
		"launcher.js": "npm/acp-bridge/launcher.js", "acp-bridge.rb": "homebrew/acp-bridge.rb",
		"Containerfile": "container/Containerfile", "icon.svg": "registry/" + registryID + "/icon.svg",
	} {
		if err := r.fill(name, to); err != nil {
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
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	return r.put(name, b.Bytes())
}

// fill writes a template.
func (r *release) fill(name, to string) error {
	t, err := template.New(name).Option("missingkey=error").ParseFS(templates, "templates/"+name)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, r); err != nil {
		return err
	}
	return r.put(to, b.Bytes())
}

// npmPackage is a package.json.
type npmPackage struct {
	Name        string            `json:"name"`
	Version     string            `json:"version"`
	Description string            `json:"description"`
	License     string            `json:"license"`
	Repository  map[string]string `json:"repository"`
	Bin         map[string]string `json:"bin,omitempty"`
	OS          []string          `json:"os,omitempty"`
	CPU         []string          `json:"cpu,omitempty"`
	Files       []string          `json:"files"`
	Optional    map[string]string `json:"optionalDependencies,omitempty"`
}

// license is what the repository says: nothing, so far.
const license = "UNLICENSED"

func (r *release) npm(name string) npmPackage {
	return npmPackage{Name: name, Version: r.Version(), Description: about, License: license,
		Repository: map[string]string{"type": "git", "url": "git+" + r.Repository + ".git"}}
}

// carrier is the package with the programs for one system.
func (r *release) carrier(t target) npmPackage {
	p := r.npm(t.Package())
	p.Description += " (" + t.String() + ")"
	p.OS, p.CPU, p.Files = []string{t.NodeOS}, []string{t.NodeArch}, []string{"bin"}
	return p
}

// launcher is the package that people install. npm takes that carrier along which
// fits the system.
func (r *release) launcher() npmPackage {
	p := r.npm("acp-bridge")
	p.Bin, p.Files, p.Optional = map[string]string{"acp-bridge": "launcher.js"}, []string{"launcher.js"}, map[string]string{}
	for _, t := range r.Targets {
		p.Optional[t.Package()] = r.Version()
	}
	return p
}

// registryID is the name in the ACP registry, where acp-bridge is another program.
const registryID = "claude-code-acp-bridge"

type registryEntry struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	Version      string   `json:"version"`
	Description  string   `json:"description"`
	Repository   string   `json:"repository"`
	Authors      []string `json:"authors"`
	License      string   `json:"license"`
	Distribution struct {
		Binary map[string]registryBinary `json:"binary"`
		NPX    map[string]string         `json:"npx"`
	} `json:"distribution"`
}

type registryBinary struct {
	Archive string `json:"archive"`
	Cmd     string `json:"cmd"`
}

// entry is the one in the ACP registry.
func (r *release) entry() registryEntry {
	e := registryEntry{ID: registryID, Name: "Claude Code (acp-bridge)", Version: r.Version(), Description: about,
		Repository: r.Repository, Authors: []string{"acp-bridge maintainers"}, License: license}
	e.Distribution.NPX = map[string]string{"package": "acp-bridge@" + r.Version()}
	e.Distribution.Binary = map[string]registryBinary{}
	for _, t := range r.Targets {
		e.Distribution.Binary[t.Registry] = registryBinary{r.URL(t), "./acp-bridge" + t.Exe()}
	}
	return e
}

// brewArchive is an archive as a Homebrew formula names it.
type brewArchive struct{ Brew, URL, Sum string }

// Systems are the archives that Homebrew takes, by its names of systems.
func (r *release) Systems() map[string][]brewArchive {
	systems := map[string][]brewArchive{}
	for _, t := range r.Targets {
		os, ok := map[string]string{"darwin": "macos", "linux": "linux"}[t.OS]
		if !ok {
			continue
		}
		cpu := map[string]string{"amd64": "intel", "arm64": "arm"}[t.Arch]
		systems[os] = append(systems[os], brewArchive{cpu, r.URL(t), r.Sum(t)})
	}
	return systems
}
