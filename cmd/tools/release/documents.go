package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// documents are the texts of the repository that a release has.
type documents struct {
	// files go along with the programs.
	files []file
	// notes are what has changed: the version's section of CHANGELOG.md.
	notes string
}

func (r *release) readDocuments() (d documents, err error) {
	names := []string{"README.md", "CHANGELOG.md", "SECURITY.md"}
	if r.License != "" {
		names = append(names, "LICENSE")
	}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(r.Source, name))
		if errors.Is(err, os.ErrNotExist) && name == "LICENSE" {
			return d, fmt.Errorf("--license %s: its text must be in LICENSE: %w", r.License, err)
		}
		if err != nil {
			return d, err
		}
		d.files = append(d.files, file{name, 0o644, data})
		if name == "CHANGELOG.md" {
			if d.notes, err = section(string(data), r.Version()); err != nil {
				return d, err
			}
		}
	}
	return d, r.checkModules()
}

// newest is the tag of the first version in a repository's CHANGELOG.md.
func newest(source string) (string, error) {
	data, err := os.ReadFile(filepath.Join(source, "CHANGELOG.md"))
	if err != nil {
		return "", err
	}
	title := regexp.MustCompile(`(?m)^## (\d\S*)`).FindSubmatch(data)
	if title == nil {
		return "", errors.New("CHANGELOG.md has no section of a version, such as ## 1.2.3")
	}
	return "v" + string(title[1]), nil
}

// section is what a changelog says about a version. Its title is the version,
// with or without a date behind it.
func section(changelog, version string) (string, error) {
	title := regexp.MustCompile(`(?m)^## ` + regexp.QuoteMeta(version) + `(?: .*)?$`).FindStringIndex(changelog)
	if title == nil {
		return "", fmt.Errorf("CHANGELOG.md has no section %q", "## "+version)
	}
	text := changelog[title[1]:]
	text, _, _ = strings.Cut(text, "\n## ")
	if text = strings.TrimSpace(text); text == "" {
		return "", fmt.Errorf("CHANGELOG.md says nothing in its section %q", "## "+version)
	}
	return text + "\n", nil
}

// beside is the module in the same repository that needs the main one. Who gets
// it alone gets the main one in the version that its go.mod names: a replacement
// there counts for nobody else.
const beside = "adapter/fantasy/askuserquestion"

var requires = regexp.MustCompile(`(?m)^\s*(?:require )?github\.com/acp-bridge/acp-bridge (v\S+)`)

// checkModules wants both modules to have one version.
func (r *release) checkModules() error {
	name := filepath.Join(r.Source, filepath.FromSlash(beside), "go.mod")
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if m := requires.FindSubmatch(data); m == nil || string(m[1]) != r.Tag {
		return fmt.Errorf("%s/go.mod must require github.com/acp-bridge/acp-bridge %s, or nobody can get that module", beside, r.Tag)
	}
	return nil
}
