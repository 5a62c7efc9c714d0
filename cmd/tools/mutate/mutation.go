package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// mutation is one change that a test should notice.
type mutation struct {
	set      string
	title    string
	tests    []tests
	file     string
	old, new string
}

// in makes the mutation in the text of its file.
func (m mutation) in(text string) string {
	return strings.Replace(text, m.old, m.new, 1)
}

// tests are those of a package, all or some.
type tests struct{ pkg, run, skip string }

// parseTests reads ./a ./b:TestRun ./c!TestSkip.
func parseTests(text string) (list []tests) {
	for _, field := range strings.Fields(text) {
		pkg, skip, _ := strings.Cut(field, "!")
		pkg, run, _ := strings.Cut(pkg, ":")
		list = append(list, tests{pkg, run, skip})
	}
	return list
}

// load reads the sets of mutations, or the one of that name.
func load(root, set string) ([]mutation, error) {
	pattern := filepath.Join(root, "cmd", "tools", "mutate", "testdata", "*.txt")
	files, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	var list []mutation
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		if set != "" && set != name {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		some, err := parse(name, string(text))
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("there are no mutations in %s", pattern)
	}
	return list, nil
}

// parse reads one set.
func parse(set, text string) ([]mutation, error) {
	head, rest, _ := strings.Cut(text, "\n")
	packages, ok := strings.CutPrefix(head, "test: ")
	if !ok {
		return nil, fmt.Errorf("%s: the first line must be test: and packages, got %q", set, head)
	}
	var list []mutation
	for n, line := range strings.Split(rest, "\n") {
		if title, ok := strings.CutPrefix(line, "# "); ok {
			list = append(list, mutation{set: set, title: title, tests: parseTests(packages)})
			continue
		}
		if line == "" {
			continue
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("%s:%d: expected a title, got %q", set, n+2, line)
		}
		m := &list[len(list)-1]
		tests, chosen := strings.CutPrefix(line, "test: ")
		switch {
		case chosen && m.file == "":
			m.tests = parseTests(tests)
		case line[0] == '-':
			m.old += line[1:] + "\n"
		case line[0] == '+':
			m.new += line[1:] + "\n"
		case m.file == "":
			m.file = line
		default:
			return nil, fmt.Errorf("%s:%d: expected -, + or a title, got %q", set, n+2, line)
		}
	}
	return list, nil
}

// fit checks that each mutation can be made in one place and no other.
func fit(root string, list []mutation) error {
	var wrong []error
	for _, m := range list {
		text, err := os.ReadFile(filepath.Join(root, m.file))
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %s: %w", m.set, m.title, err))
		} else if n := strings.Count(string(text), m.old); n != 1 || m.old == m.new {
			wrong = append(wrong, fmt.Errorf("%s: %s: what is taken out must be in %s once, it is there %d times", m.set, m.title, m.file, n))
		}
	}
	return errors.Join(wrong...)
}
