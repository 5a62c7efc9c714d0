package main

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// target is a system that is built for, under the names that others give it.
type target struct {
	OS, Arch string
	// Node is what node says of itself: process.platform and process.arch.
	NodeOS, NodeArch string
	// Registry is the ACP registry's name.
	Registry string
}

var targets = []target{
	{"linux", "amd64", "linux", "x64", "linux-x86_64"},
	{"linux", "arm64", "linux", "arm64", "linux-aarch64"},
	{"darwin", "amd64", "darwin", "x64", "darwin-x86_64"},
	{"darwin", "arm64", "darwin", "arm64", "darwin-aarch64"},
	{"windows", "amd64", "win32", "x64", "windows-x86_64"},
	{"windows", "arm64", "win32", "arm64", "windows-aarch64"},
}

func findTarget(name string) (target, error) {
	var names []string
	for _, t := range targets {
		if t.String() == name {
			return t, nil
		}
		names = append(names, t.String())
	}
	return target{}, fmt.Errorf("unknown target %q: expected one of %s", name, strings.Join(names, ", "))
}

func (t target) String() string { return t.OS + "/" + t.Arch }

// Exe is the end of a program's name.
func (t target) Exe() string {
	if t.OS == "windows" {
		return ".exe"
	}
	return ""
}

// Package is the npm package that carries the program.
func (t target) Package() string { return "acp-bridge-" + t.NodeOS + "-" + t.NodeArch }

// programs are those of a release.
var programs = []string{"acp-bridge", "acp-bridge-hub"}

// release is what is made.
type release struct {
	Source, Out, Tag, Repository string
	// Commit is what is built, in full; empty where nobody knows.
	Commit string
	// License is an SPDX expression; empty is none. Then nobody may use it.
	License string
	// RegistryID is the name in the ACP registry.
	RegistryID string
	Targets    []target
	// Programs are the commands of the module that are in it.
	Programs []string
	// Build compiles a program of the module; nil is the Go of this machine.
	// Inspect reads what is in one; nil is Go's own record.
	Build   func(ctx context.Context, t target, name, path string) error
	Inspect func(path string) (*buildinfo.BuildInfo, error)
	// Sums are the checksums of the files that people download, by name.
	Sums map[string]string

	texts documents
	// built says what is in each target's programs, in their order.
	built map[target][]*buildinfo.BuildInfo
}

// Version is the tag without its v.
func (r *release) Version() string { return strings.TrimPrefix(r.Tag, "v") }

// Archive is the name of a target's archive.
func (r *release) Archive(t target) string {
	end := ".tar.gz"
	if t.OS == "windows" {
		end = ".zip"
	}
	return fmt.Sprintf("acp-bridge_%s_%s_%s%s", r.Version(), t.OS, t.Arch, end)
}

// URL is where the archive will be.
func (r *release) URL(t target) string {
	return r.Repository + "/releases/download/" + r.Tag + "/" + r.Archive(t)
}

// Sum is the checksum of a target's archive.
func (r *release) Sum(t target) string { return r.Sums[r.Archive(t)] }

// build makes the archives, and the programs in the npm packages.
func (r *release) build(ctx context.Context) (err error) {
	if r.texts, err = r.readDocuments(); err != nil {
		return err
	}
	r.Sums, r.built = map[string]string{}, map[target][]*buildinfo.BuildInfo{}
	for _, t := range r.Targets {
		if err := r.buildFor(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) buildFor(ctx context.Context, t target) error {
	compile, inspect := r.Build, r.Inspect
	if compile == nil {
		compile = r.compile
	}
	if inspect == nil {
		inspect = buildinfo.ReadFile
	}
	var files []file
	for _, name := range r.Programs {
		path := r.program(t, name)
		if err := compile(ctx, t, name, path); err != nil {
			return err
		}
		info, err := inspect(path)
		if err != nil {
			return err
		}
		r.built[t] = append(r.built[t], info)
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files = append(files, file{name + t.Exe(), 0o755, data})
	}
	data, err := pack(t, append(files, r.texts.files...))
	if err != nil {
		return err
	}
	return r.give(r.Archive(t), data)
}

// program is where a target's program is: in the npm package that carries it.
func (r *release) program(t target, name string) string {
	return filepath.Join(r.Out, "npm", t.Package(), "bin", name+t.Exe())
}

// give writes a file that people download, and keeps its checksum.
func (r *release) give(name string, data []byte) error {
	sum := sha256.Sum256(data)
	r.Sums[name] = hex.EncodeToString(sum[:])
	return r.put(name, data)
}

// stamp is the package that knows the version.
const stamp = "github.com/acp-bridge/acp-bridge/cmd/internal/cli"

// compile builds a program. Nothing of this machine gets into it: no path, no
// state of the checkout, no C library.
func (r *release) compile(ctx context.Context, t target, name, path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags=-s -w -buildid= -X "+stamp+".release="+r.Tag+" -X "+stamp+".commit="+r.Commit, "-o", path, "./cmd/"+name)
	cmd.Dir = r.Source
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.OS, "GOARCH="+t.Arch, "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s for %s: %w\n%s", name, t, err, out)
	}
	return nil
}

// commitOf is the commit that is checked out in a folder. A release is made of
// nothing that is not committed.
func commitOf(ctx context.Context, dir string) (string, error) {
	git := func(args ...string) (string, error) {
		out, err := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	commit, err := git("rev-parse", "HEAD")
	if err != nil {
		return "", fmt.Errorf("the commit of %s: %w; --commit names it where there is no git", dir, err)
	}
	changes, err := git("status", "--porcelain", "--untracked-files=no")
	if err == nil && changes != "" {
		err = errors.New("there are changes that are not committed; --commit says which commit it is all the same")
	}
	return commit, err
}
