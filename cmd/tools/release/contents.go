package main

import (
	"debug/buildinfo"
	"runtime/debug"
	"slices"
	"strings"
)

// A bill of materials, as CycloneDX 1.6 writes it. It has neither a time nor a
// random name: two builds of one commit have the same.
type (
	bom struct {
		Format     string         `json:"bomFormat"`
		Spec       string         `json:"specVersion"`
		Version    int            `json:"version"`
		Metadata   bomMetadata    `json:"metadata"`
		Components []bomComponent `json:"components"`
		Needs      []bomNeeds     `json:"dependencies"`
	}
	bomMetadata struct {
		Component bomComponent `json:"component"`
	}
	bomComponent struct {
		Type       string        `json:"type"`
		Ref        string        `json:"bom-ref"`
		Name       string        `json:"name"`
		Version    string        `json:"version,omitempty"`
		PURL       string        `json:"purl,omitempty"`
		Hashes     []bomHash     `json:"hashes,omitempty"`
		Properties []bomProperty `json:"properties,omitempty"`
	}
	bomHash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	bomProperty struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	bomNeeds struct {
		Ref  string   `json:"ref"`
		Uses []string `json:"dependsOn"`
	}
)

// SBOM is the name of a target's bill of materials.
func (r *release) SBOM(t target) string {
	name := strings.TrimSuffix(strings.TrimSuffix(r.Archive(t), ".tar.gz"), ".zip")
	return name + ".cdx.json"
}

func (r *release) writeSBOMs() error {
	for _, t := range r.Targets {
		data, err := encode(r.bom(t))
		if err != nil {
			return err
		}
		if err := r.give(r.SBOM(t), data); err != nil {
			return err
		}
	}
	return nil
}

// bom is what is in a target's programs, by Go's own record of the build.
func (r *release) bom(t target) bom {
	archive := bomComponent{Type: "file", Ref: r.Archive(t), Name: r.Archive(t), Version: r.Version(), Hashes: []bomHash{{"SHA-256", r.Sum(t)}}}
	b := bom{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: bomMetadata{archive}}
	top := bomNeeds{Ref: archive.Ref}
	for i, name := range r.Programs {
		info := r.built[t][i]
		program := bomComponent{Type: "application", Ref: name, Name: name, Version: r.Version(),
			Properties: []bomProperty{{"acp-bridge:commit", r.Commit}, {"acp-bridge:go", info.GoVersion}}}
		b.add(program)
		top.Uses = append(top.Uses, name)
		b.Needs = append(b.Needs, bomNeeds{name, b.addModules(info)})
	}
	b.Needs = append([]bomNeeds{top}, b.Needs...)
	return b
}

// addModules adds what a program is linked with, Go itself included.
func (b *bom) addModules(info *buildinfo.BuildInfo) (refs []string) {
	modules := []*debug.Module{{Path: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go")}}
	for _, m := range append(modules, info.Deps...) {
		if m.Replace != nil {
			m = m.Replace
		}
		purl := "pkg:golang/" + m.Path + "@" + m.Version
		c := bomComponent{Type: "library", Ref: purl, Name: m.Path, Version: m.Version, PURL: purl}
		if m.Sum != "" {
			c.Properties = []bomProperty{{"go:sum", m.Sum}}
		}
		b.add(c)
		refs = append(refs, purl)
	}
	return refs
}

func (b *bom) add(c bomComponent) {
	if !slices.ContainsFunc(b.Components, func(o bomComponent) bool { return o.Ref == c.Ref }) {
		b.Components = append(b.Components, c)
	}
}
