package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tryDrawn draws the given number of changes, compiles them all at once, and tries
// those whose name matches. Each package's tests are linked once and run one by one, to
// see which of them come by a change at all; a change is then tried with those alone,
// the quickest first.
func tryDrawn(ctx context.Context, root, dir string, from, only *regexp.Regexp, seed uint64, number int, limit time.Duration, out io.Writer) (noticed, tried int, err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "acp-bridge-mutate-"); err != nil {
			return 0, 0, err
		}
		defer os.RemoveAll(dir)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return 0, 0, err
	}
	list, err := draw(root, from, seed)
	if err != nil {
		return 0, 0, err
	}
	same, err := equivalent(root)
	if err != nil {
		return 0, 0, err
	}
	list = slices.DeleteFunc(list, func(d drawn) bool { return same[d.name] != "" })
	if err := copyModule(ctx, root, dir); err != nil {
		return 0, 0, err
	}
	t := trial{dir: dir, state: filepath.Join(dir, ".mutant"), limit: limit, out: out}
	defer os.Remove(t.state)
	// Some do not compile, and others take their place.
	list, err = compiling(ctx, root, dir, t.state, list[:min(len(list), number+number/10)])
	if err != nil {
		return 0, 0, err
	}
	list = list[:min(len(list), number)]
	byPackage := map[string][]int{}
	for i, d := range list {
		if only.MatchString(d.name) {
			byPackage[d.dir] = append(byPackage[d.dir], i+1)
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(byPackage)) {
		n, err := t.pkg(ctx, pkg, list, byPackage[pkg])
		if err != nil {
			return noticed, tried, err
		}
		noticed += n
		tried += len(byPackage[pkg])
	}
	return noticed, tried, nil
}

type trial struct {
	dir, state string
	limit      time.Duration
	out        io.Writer
}

// ran is a test that passes, how long it takes, and the changes that it comes by.
type ran struct {
	name string
	took time.Duration
	hits map[int]bool
}

// pkg tries changes in one package. Those that its own tests do not notice are tried with
// those of the packages that import it, each run as a whole.
func (t trial) pkg(ctx context.Context, pkg string, list []drawn, numbers []int) (noticed int, err error) {
	left, err := t.with(ctx, pkg, "", list, numbers)
	if err != nil || len(left) == 0 {
		return len(numbers), err
	}
	importers, err := t.importers(ctx, pkg)
	for _, other := range importers {
		if err != nil || len(left) == 0 {
			break
		}
		left, err = t.with(ctx, other, ".*", list, left)
	}
	return len(numbers) - len(left), err
}

// importers are the packages that import one, also those whose tests alone do.
func (t trial) importers(ctx context.Context, pkg string) (list []string, err error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-f", `{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}} {{.Module.Path}}{{range .Imports}} {{.}}{{end}}{{range .TestImports}} {{.}}{{end}}{{range .XTestImports}} {{.}}{{end}}{{end}}`, "./...")
	cmd.Dir = t.dir
	output, err := cmd.Output()
	for line := range strings.Lines(string(output)) {
		if words := strings.Fields(line); len(words) > 2 && slices.Contains(words[2:], words[1]+"/"+pkg) {
			if name, err := filepath.Rel(t.dir, words[0]); err == nil && filepath.ToSlash(name) != pkg {
				list = append(list, filepath.ToSlash(name))
			}
		}
	}
	return list, err
}

// with tries changes with the tests of a package, or with those of one name, and returns
// those that are not noticed.
func (t trial) with(ctx context.Context, pkg, name string, list []drawn, numbers []int) (left []int, err error) {
	bin := filepath.Join(t.dir, "mutated.test")
	defer os.Remove(bin)
	cmd := exec.CommandContext(ctx, "go", "test", "-c=true", "-vet=off", "-ldflags=-s -w", "-o", bin, "./"+pkg)
	cmd.Dir = t.dir
	if output, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", pkg, err, output)
	}
	began := time.Now()
	tests, err := t.alone(ctx, bin, pkg, name)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(t.out, "%s: %d tests (%s)\n", pkg, len(tests), time.Since(began).Round(time.Second))
	for _, n := range numbers {
		began := time.Now()
		by, err := t.one(ctx, bin, pkg, n, tests)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(by, "NOT") {
			left = append(left, n)
		}
		fmt.Fprintf(t.out, "  %d\t%s\t%s (%s)\n", list[n-1].line, list[n-1].name, by, time.Since(began).Round(time.Second))
	}
	return left, nil
}

// alone runs each test of a package by itself, unchanged, or those of one name. Those that
// fail are told and left out.
func (t trial) alone(ctx context.Context, bin, pkg, name string) (tests []ran, err error) {
	names := []string{name}
	if name == "" {
		output, err := t.test(ctx, bin, pkg, "0", "-test.list", "^(Test|Example|Fuzz)")
		if err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", pkg, err, output)
		}
		names = strings.Fields(string(output))
	}
	hits := t.state + ".hits"
	for _, name := range names {
		os.Remove(hits)
		began := time.Now()
		output, failed := t.test(ctx, bin, pkg, "0 "+hits, "-test.run", "^"+name+"$", "-test.timeout", t.limit.String())
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if failed != nil {
			fmt.Fprintf(t.out, "%s: %s fails unchanged and is left out\n", pkg, firstFailure(pkg, output))
			continue
		}
		r := ran{name: name, took: time.Since(began), hits: map[int]bool{}}
		text, _ := os.ReadFile(hits)
		for _, n := range strings.Fields(string(text)) {
			i, _ := strconv.Atoi(n)
			r.hits[i] = true
		}
		tests = append(tests, r)
	}
	os.Remove(hits)
	return tests, nil
}

// one returns the test that notices a change.
func (t trial) one(ctx context.Context, bin, pkg string, n int, tests []ran) (by string, err error) {
	tests = slices.DeleteFunc(slices.Clone(tests), func(r ran) bool { return !r.hits[n] })
	if len(tests) == 0 {
		return "NOT REACHED", nil
	}
	slices.SortStableFunc(tests, func(a, b ran) int { return cmp.Compare(a.took, b.took) })
	for len(tests) > 0 {
		var names []string
		var took time.Duration
		for len(tests) > 0 && (took < 2*time.Second || len(names) == 0) {
			names = append(names, tests[0].name)
			took += tests[0].took
			tests = tests[1:]
		}
		// Whatever waits for something that never comes has hung long before that.
		limit := min(t.limit, 20*time.Second+4*took)
		args := []string{"-test.failfast", "-test.run", "^(" + strings.Join(names, "|") + ")$", "-test.timeout", limit.String()}
		for range 3 {
			output, failed := t.test(ctx, bin, pkg, strconv.Itoa(n), args...)
			if ctx.Err() != nil {
				return "", ctx.Err()
			}
			if failed == nil {
				break
			}
			// Tests that fail without the change, too, have noticed nothing.
			by := firstFailure(pkg, output)
			if _, failed := t.test(ctx, bin, pkg, "0", args...); failed == nil {
				return by, ctx.Err()
			}
			fmt.Fprintf(t.out, "%s: %s fails unchanged, too\n", pkg, by)
		}
	}
	return "NOT NOTICED", nil
}

// test runs the tests of a package with one change made.
func (t trial) test(ctx context.Context, bin, pkg, state string, args ...string) ([]byte, error) {
	if err := os.WriteFile(t.state, []byte(state), 0o600); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, t.limit+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, append(args, "-test.skip", "^TestBudget$")...) // it counts lines
	cmd.Dir = filepath.Join(t.dir, pkg)
	// A file: what a test leaves running must not hold us up.
	output, err := os.CreateTemp("", "acp-bridge-mutate-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(output.Name())
	defer output.Close()
	cmd.Stdout, cmd.Stderr = output, output
	failed := cmd.Run()
	text, err := os.ReadFile(output.Name())
	return text, errors.Join(failed, err)
}
