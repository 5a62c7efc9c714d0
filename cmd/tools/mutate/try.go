package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// try makes each mutation in a copy of the module in dir, or in a temporary
// folder, runs the tests, and tells which of them noticed it. With build it only
// compiles them.
func try(ctx context.Context, root, dir string, list []mutation, limit time.Duration, build bool, out io.Writer) (noticed, tried int, err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "acp-bridge-mutate-"); err != nil {
			return 0, 0, err
		}
		defer os.RemoveAll(dir)
	}
	if err := copyModule(ctx, root, dir); err != nil {
		return 0, 0, err
	}
	for _, m := range list {
		tried++
		began := time.Now()
		by, err := m.try(ctx, dir, limit, build)
		switch {
		case errors.Is(err, errNoBuild):
			by = err.Error()
		case err != nil:
			return noticed, tried, err
		case by == "":
			by = "NOT NOTICED"
		default:
			noticed++
		}
		fmt.Fprintf(out, "%-8s %-70s %s (%s)\n", m.set, m.title, by, time.Since(began).Round(time.Second))
	}
	return noticed, tried, nil
}

// errNoBuild means that a mutation is none: the compiler notices it.
var errNoBuild = errors.New("IT DOES NOT COMPILE")

// copyModule copies what git knows of the module, and what is new.
func copyModule(ctx context.Context, root, dir string) error {
	cmd := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	names, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("list the files of the module: %w", err)
	}
	for _, name := range strings.Split(strings.Trim(string(names), "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join(root, name))
		if err != nil || !info.Mode().IsRegular() {
			continue // deleted, or a link
		}
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, data, info.Mode().Perm()); err != nil {
			return err
		}
	}
	return nil
}

// try returns the test that notices the mutation, empty if none does.
func (m mutation) try(ctx context.Context, dir string, limit time.Duration, build bool) (by string, err error) {
	path := filepath.Join(dir, m.file)
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(path, []byte(m.in(string(text))), 0o644); err != nil {
		return "", err
	}
	defer func() {
		if e := os.WriteFile(path, text, 0o644); err == nil {
			err = e
		}
	}()
	if build {
		cmd := exec.CommandContext(ctx, "go", "build", "./"+filepath.Dir(m.file))
		cmd.Dir = dir
		if output, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w:\n%s", errNoBuild, output)
		}
		return "compiles", ctx.Err()
	}
	bins := map[string]string{} // of packages whose tests are compiled
	for _, tests := range m.tests {
		bin, ok := bins[tests.pkg]
		if !ok {
			bin = filepath.Join(dir, fmt.Sprintf("mutated%d.test", len(bins)))
			cmd := exec.CommandContext(ctx, "go", "test", "-c=true", "-vet=off", "-ldflags=-s -w", "-o", bin)
			cmd.Dir = filepath.Join(dir, tests.pkg) // which may be of another module
			if output, err := cmd.CombinedOutput(); err != nil && ctx.Err() == nil {
				return "", fmt.Errorf("%w:\n%s", errNoBuild, output)
			}
			bins[tests.pkg] = bin
			defer os.Remove(bin)
		}
		cmd := exec.CommandContext(ctx, bin, "-test.failfast", "-test.timeout", limit.String(), "-test.run", tests.run, "-test.skip", strings.Trim(tests.skip+"|^TestBudget$", "|")) // it counts lines
		cmd.Dir = filepath.Join(dir, tests.pkg)
		output, failed := cmd.CombinedOutput()
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if failed != nil {
			return firstFailure(tests.pkg, output), nil
		}
	}
	return "", nil
}

var (
	failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	hanging = regexp.MustCompile(`running tests:\s+(\S+)`)
)

// firstFailure names the innermost test that failed, and what it said.
func firstFailure(pkg string, output []byte) string {
	names := failure.FindAllSubmatch(output, -1)
	if i := bytes.Index(output, []byte("panic: test timed out")); i >= 0 {
		if running := hanging.FindSubmatch(output[i:]); running != nil {
			return "it hangs: " + string(running[1])
		}
	}
	if len(names) == 0 {
		return pkg + ": the tests broke down"
	}
	return string(names[len(names)-1][1])
}
