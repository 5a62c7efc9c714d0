package main

import (
	"maps"
	"slices"
)

// Where the files of a release are from, as SLSA's provenance in an in-toto
// statement. It is not signed: whoever publishes signs it.
type (
	statement struct {
		Type          string     `json:"_type"`
		Subject       []resource `json:"subject"`
		PredicateType string     `json:"predicateType"`
		Predicate     provenance `json:"predicate"`
	}
	provenance struct {
		Build struct {
			Type         string         `json:"buildType"`
			Parameters   map[string]any `json:"externalParameters"`
			Dependencies []resource     `json:"resolvedDependencies"`
		} `json:"buildDefinition"`
		Run struct {
			Builder map[string]string `json:"builder"`
		} `json:"runDetails"`
	}
	resource struct {
		Name   string            `json:"name,omitempty"`
		URI    string            `json:"uri,omitempty"`
		Digest map[string]string `json:"digest,omitempty"`
	}
)

// provenanceName is that of the statement.
const provenanceName = "provenance.intoto.json"

func (r *release) writeProvenance() error {
	s := statement{Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1"}
	for _, name := range slices.Sorted(maps.Keys(r.Sums)) {
		s.Subject = append(s.Subject, resource{Name: name, Digest: map[string]string{"sha256": r.Sums[name]}})
	}
	builder := r.Repository + "/tree/" + r.Tag + "/cmd/tools/release"
	var names []string
	for _, t := range r.Targets {
		names = append(names, t.String())
	}
	p := &s.Predicate
	p.Build.Type = builder
	p.Build.Parameters = map[string]any{"version": r.Tag, "repository": r.Repository, "license": r.License, "registryId": r.RegistryID, "targets": names}
	p.Build.Dependencies = []resource{
		{URI: "git+" + r.Repository + "@refs/tags/" + r.Tag, Digest: map[string]string{"gitCommit": r.Commit}},
		{Name: "go", URI: "pkg:golang/toolchain@" + r.built[r.Targets[0]][0].GoVersion},
	}
	p.Run.Builder = map[string]string{"id": builder}
	data, err := encode(s)
	if err != nil {
		return err
	}
	return r.give(provenanceName, data)
}
