package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
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
	Targets                      []target
	// Programs are the commands of the module that are in it.
	Programs []string
	// Build compiles a program of the module; nil is the Go of this machine.
	Build func(ctx context.Context, t target, name, path string) error
	// Sums are the checksums of the archives, by name.
	Sums map[string]string
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
func (r *release) build(ctx context.Context) error {
	r.Sums = map[string]string{}
	compile := r.Build
	if compile == nil {
		compile = r.compile
	}
	for _, t := range r.Targets {
		dir := filepath.Join(r.Out, "npm", t.Package(), "bin")
		var files []file
		for _, name := range r.Programs {
			path := filepath.Join(dir, name+t.Exe())
			if err := compile(ctx, t, name, path); err != nil {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			files = append(files, file{name + t.Exe(), 0o755, data})
		}
		readme, err := os.ReadFile(filepath.Join(r.Source, "README.md"))
		if err != nil {
			return err
		}
		files = append(files, file{"README.md", 0o644, readme})
		data, err := pack(t, files)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(r.Out, r.Archive(t)), data, 0o644); err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		r.Sums[r.Archive(t)] = hex.EncodeToString(sum[:])
	}
	return nil
}

// compile builds a program. Nothing of this machine gets into it: no path, no
// state of the checkout, no C library.
func (r *release) compile(ctx context.Context, t target, name, path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags=-s -w -buildid= -X main.release="+r.Tag, "-o", path, "./cmd/"+name)
	cmd.Dir = r.Source
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.OS, "GOARCH="+t.Arch, "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s for %s: %w\n%s", name, t, err, out)
	}
	return nil
}

// file is one of an archive.
type file struct {
	name string
	mode int64
	data []byte
}

// epoch is the time of all files: the oldest that zip knows.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

func pack(t target, files []file) ([]byte, error) {
	var b bytes.Buffer
	var err error
	if t.OS == "windows" {
		err = packZip(&b, files)
	} else {
		err = packTar(&b, files)
	}
	return b.Bytes(), err
}

func packTar(w io.Writer, files []file) error {
	z := gzip.NewWriter(w)
	tw := tar.NewWriter(z)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: epoch, Format: tar.FormatUSTAR}
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		if _, err := tw.Write(f.data); err != nil {
			return err
		}
	}
	if err := tw.Close(); err != nil {
		return err
	}
	return z.Close()
}

func packZip(w io.Writer, files []file) error {
	z := zip.NewWriter(w)
	for _, f := range files {
		fw, err := z.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: epoch})
		if err != nil {
			return err
		}
		if _, err := fw.Write(f.data); err != nil {
			return err
		}
	}
	return z.Close()
}
