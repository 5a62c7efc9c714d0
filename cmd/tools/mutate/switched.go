package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// switches is added to each package. Which change is made is read from a file, and
// not from the environment, which commands that tests start do not have.
const switches = `package %s

import (
	"cmp"
	"os"
	"strconv"
	"strings"
	"sync"
)

var mutantNow, mutantHits = func() (int, string) {
	text, _ := os.ReadFile(%q)
	n, hits, _ := strings.Cut(string(text), " ")
	now, _ := strconv.Atoi(n)
	return now, hits
}()

var mutantSeen sync.Map

func mutant(n int) bool {
	if mutantHits != "" {
		if _, seen := mutantSeen.LoadOrStore(n, true); !seen {
			if f, err := os.OpenFile(mutantHits, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
				f.WriteString(strconv.Itoa(n) + "\n")
				f.Close()
			}
		}
	}
	return n == mutantNow
}

func mutantNot[B ~bool](n int, b B) B { return b != B(mutant(n)) }

func mutantAnd(n int, a bool, b func() bool) bool {
	if mutant(n) {
		return a || b()
	}
	return a && b()
}

func mutantOr(n int, a bool, b func() bool) bool {
	if mutant(n) {
		return a && b()
	}
	return a || b()
}

func mutantLess[T cmp.Ordered](n int, a, b T) bool    { return a < b || mutant(n) && a == b }
func mutantMore[T cmp.Ordered](n int, a, b T) bool    { return a > b || mutant(n) && a == b }
func mutantAtMost[T cmp.Ordered](n int, a, b T) bool  { return a < b || !mutant(n) && a == b }
func mutantAtLeast[T cmp.Ordered](n int, a, b T) bool { return a > b || !mutant(n) && a == b }
`

// write puts the changes into the copy in dir, each behind its switch, whose number
// is its place in the list, from 1.
func write(root, dir, state string, list []drawn) error {
	files := map[string][]edit{}
	for i, d := range list {
		for _, e := range d.edits {
			e.text = strings.ReplaceAll(e.text, "%d", strconv.Itoa(i+1))
			files[d.file] = append(files[d.file], e)
		}
	}
	for name, edits := range files {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(edited(string(text), edits)), 0o644); err != nil {
			return err
		}
		pkg := regexp.MustCompile(`(?m)^package (\w+)`).FindSubmatch(text)
		if err := os.WriteFile(filepath.Join(dir, filepath.Dir(name), "mutants.go"), fmt.Appendf(nil, switches, pkg[1], state), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// edited makes edits that may be around each other.
func edited(text string, edits []edit) string {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b edit) int {
		switch {
		case a.from != b.from:
			return cmp.Compare(a.from, b.from)
		case a.closes != b.closes:
			return map[bool]int{true: -1, false: 1}[a.closes]
		case a.closes:
			return cmp.Compare(b.nth, a.nth)
		}
		return cmp.Compare(a.nth, b.nth)
	})
	var b strings.Builder
	at := 0
	for _, e := range edits {
		b.WriteString(text[at:e.from] + e.text)
		at = e.to
	}
	return b.String() + text[at:]
}

var place = regexp.MustCompile(`(?m)^(?:\./)?([^\s:]+\.go):(\d+):`)

// compiling writes the changes into the copy, and leaves out those that do not
// compile there.
func compiling(ctx context.Context, root, dir, state string, list []drawn) ([]drawn, error) {
	for {
		if err := write(root, dir, state, list); err != nil {
			return nil, err
		}
		// It compiles what the tests are then linked with, and links nothing.
		cmd := exec.CommandContext(ctx, "go", "list", "-export", "./...")
		cmd.Dir = dir
		output, err := cmd.CombinedOutput()
		if err == nil {
			return list, nil
		}
		wrong := map[string]bool{}
		for _, m := range place.FindAllSubmatch(output, -1) {
			wrong[string(m[1])+":"+string(m[2])] = true
		}
		left := slices.DeleteFunc(slices.Clone(list), func(d drawn) bool { return wrong[d.file+":"+strconv.Itoa(d.line)] })
		if len(left) == len(list) {
			return nil, fmt.Errorf("the mutated module does not compile: %w\n%s", err, output)
		}
		// A file that has no change left must be as it was.
		if err := copyModule(ctx, root, dir); err != nil {
			return nil, err
		}
		list = left
	}
}
