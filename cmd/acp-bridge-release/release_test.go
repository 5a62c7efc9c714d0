package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// make makes a release whose programs are short scripts that say who they are.
func makeRelease(t *testing.T, list []target) *release {
	r := &release{Source: "../..", Out: t.TempDir(), Tag: "v1.2.3", Repository: "https://example.org/acp-bridge", Targets: list, Programs: programs}
	r.Build = func(_ context.Context, _ target, name, path string) error {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.WriteFile(path, []byte("#!/bin/sh\necho "+name+" $*\nexit 7\n"), 0o755)
	}
	require.NoError(t, r.build(t.Context()))
	require.NoError(t, r.write())
	return r
}

func read(t *testing.T, r *release, name string) []byte {
	data, err := os.ReadFile(filepath.Join(r.Out, filepath.FromSlash(name)))
	require.NoError(t, err)
	return data
}

func readJSON(t *testing.T, r *release, name string) (v map[string]any) {
	require.NoError(t, json.Unmarshal(read(t, r, name), &v))
	return v
}

// The checksums are those of the archives, and the archives hold the programs.
func TestArchives(t *testing.T) {
	r := makeRelease(t, targets)
	lines := strings.Split(strings.TrimSpace(string(read(t, r, "SHA256SUMS"))), "\n")
	require.Len(t, lines, len(targets))
	for _, line := range lines {
		sum, name, _ := strings.Cut(line, "  ")
		require.Equal(t, fmt.Sprintf("%x", sha256.Sum256(read(t, r, name))), sum)
	}
	for _, target := range targets {
		want := []string{"acp-bridge" + target.Exe(), "acp-bridge-hub" + target.Exe(), "README.md"}
		require.Equal(t, want, inArchive(t, read(t, r, r.Archive(target))), target)
	}
}

func inArchive(t *testing.T, data []byte) (names []string) {
	if z, err := zip.NewReader(bytes.NewReader(data), int64(len(data))); err == nil {
		for _, f := range z.File {
			names = append(names, f.Name)
		}
		return names
	}
	g, err := gzip.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	for r := tar.NewReader(g); ; {
		h, err := r.Next()
		if err == io.EOF {
			return names
		}
		require.NoError(t, err)
		require.Zero(t, h.Uid)
		if h.Name != "README.md" {
			require.EqualValues(t, 0o755, h.Mode)
		}
		names = append(names, h.Name)
	}
}

// What people install depends on a carrier for each system, and node runs the one
// that fits: arguments, output and exit code go through.
func TestNPM(t *testing.T) {
	r := makeRelease(t, targets)
	main := readJSON(t, r, "npm/acp-bridge/package.json")
	require.Equal(t, "1.2.3", main["version"])
	require.Len(t, main["optionalDependencies"], len(targets))
	for _, target := range targets {
		carrier := readJSON(t, r, "npm/"+target.Package()+"/package.json")
		require.Equal(t, main["optionalDependencies"].(map[string]any)[target.Package()], carrier["version"])
		require.Equal(t, []any{target.NodeOS}, carrier["os"])
		require.Equal(t, []any{target.NodeArch}, carrier["cpu"])
	}
	if _, err := exec.LookPath("node"); err != nil || runtime.GOOS == "windows" {
		t.Skip("node is not here")
	}
	modules := filepath.Join(t.TempDir(), "node_modules")
	require.NoError(t, os.CopyFS(modules, os.DirFS(filepath.Join(r.Out, "npm"))))
	require.NoError(t, filepath.WalkDir(modules, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.Contains(path, "/bin/") {
			err = os.Chmod(path, 0o755)
		}
		return err
	}))
	launcher := filepath.Join(modules, "acp-bridge", "launcher.js")
	out, err := exec.Command("node", launcher, "demo", "--wire").Output()
	require.Equal(t, "acp-bridge demo --wire\n", string(out))
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 7, exit.ExitCode())
	for _, target := range targets { // and without its carrier it says so
		require.NoError(t, os.RemoveAll(filepath.Join(modules, target.Package())))
	}
	err = exec.Command("node", launcher).Run()
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 1, exit.ExitCode())
	require.Empty(t, exit.Stderr)
}

// The registry's rules: a name of small letters, a plain version, https addresses
// of archives that exist, a program in each, an icon of 16 by 16 in one colour.
func TestRegistry(t *testing.T) {
	r := makeRelease(t, targets)
	entry := readJSON(t, r, "registry/"+registryID+"/agent.json")
	require.Regexp(t, `^[a-z][a-z0-9-]*$`, entry["id"])
	require.Regexp(t, `^\d+\.\d+\.\d+$`, entry["version"])
	distribution := entry["distribution"].(map[string]any)
	require.Equal(t, map[string]any{"package": "acp-bridge@1.2.3"}, distribution["npx"])
	binary := distribution["binary"].(map[string]any)
	require.Len(t, binary, len(targets))
	for _, target := range targets {
		b := binary[target.Registry].(map[string]any)
		base := r.Repository + "/releases/download/v1.2.3/"
		name, ok := strings.CutPrefix(b["archive"].(string), base)
		require.True(t, ok)
		require.Contains(t, inArchive(t, read(t, r, name)), strings.TrimPrefix(b["cmd"].(string), "./"))
	}
	var icon struct {
		Width  int `xml:"width,attr"`
		Height int `xml:"height,attr"`
	}
	svg := read(t, r, "registry/"+registryID+"/icon.svg")
	require.NoError(t, xml.Unmarshal(svg, &icon))
	require.Equal(t, [2]int{16, 16}, [2]int{icon.Width, icon.Height})
	require.Contains(t, string(svg), "currentColor")
	require.NotContains(t, string(svg), "#")
}

// The formula names the archives that were made, with their checksums.
func TestFormula(t *testing.T) {
	r := makeRelease(t, targets)
	formula := string(read(t, r, "homebrew/acp-bridge.rb"))
	found := regexp.MustCompile(`url "(.*)"\n\s+sha256 "(.*)"`).FindAllStringSubmatch(formula, -1)
	require.Len(t, found, 4)
	for _, f := range found {
		require.Equal(t, r.Sums[filepath.Base(f[1])], f[2])
	}
	require.Contains(t, formula, "on_macos do\n    on_intel do")
	require.Equal(t, strings.Count(formula, " do\n")+strings.Count(formula, "def ")+1, strings.Count(formula, "end\n"))
	if path, err := exec.LookPath("ruby"); err == nil {
		out, err := exec.Command(path, "-c", filepath.Join(r.Out, "homebrew/acp-bridge.rb")).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	container := string(read(t, r, "container/Containerfile"))
	require.Contains(t, container, "acp-bridge@1.2.3 ")
	require.Regexp(t, `(?m)^USER node$`, container)
	require.Regexp(t, `(?m)^ENTRYPOINT \["acp-bridge"\]$`, container)
}

func TestUsage(t *testing.T) {
	require.ErrorContains(t, run(t.Context(), []string{"--version", "1.2"}), `--version must be like v1.2.3, got "1.2"`)
	require.ErrorContains(t, run(t.Context(), []string{"--version", "v1.2.3", "--targets", "plan9/amd64"}), `unknown target "plan9/amd64": expected one of linux/amd64, `)
	require.ErrorIs(t, run(t.Context(), []string{"--version", "v1.2.3", "--out", t.TempDir()}), os.ErrExist)
}

// Two builds, from two places and without what the first has left in a cache, are
// the same bytes, and know their version.
func TestReproducible(t *testing.T) {
	if os.Getenv("ACP_BRIDGE_RELEASE") == "" {
		t.Skip("set ACP_BRIDGE_RELEASE to build a release twice, from scratch")
	}
	here, err := findTarget(runtime.GOOS + "/" + runtime.GOARCH)
	require.NoError(t, err)
	var sums []map[string]string
	for range 2 {
		source, cache := t.TempDir(), t.TempDir()
		for _, part := range []string{"adapter", "cmd", "convert", "display", "internal"} {
			require.NoError(t, os.CopyFS(filepath.Join(source, part), os.DirFS(filepath.Join("../..", part))))
		}
		for _, name := range []string{"go.mod", "go.sum", "README.md"} {
			data, err := os.ReadFile(filepath.Join("../..", name))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(source, name), data, 0o600))
		}
		t.Setenv("GOCACHE", cache)
		r := &release{Source: source, Out: t.TempDir(), Tag: "v1.2.3", Repository: "https://example.org", Targets: []target{here}, Programs: []string{"acp-bridge"}}
		require.NoError(t, r.build(t.Context()))
		require.NoError(t, r.write())
		sums = append(sums, r.Sums)
		out, err := exec.Command(filepath.Join(r.Out, "npm", here.Package(), "bin", "acp-bridge"+here.Exe()), "version").Output()
		require.NoError(t, err)
		require.Equal(t, "acp-bridge v1.2.3\n", string(out))
	}
	require.Equal(t, sums[0], sums[1])
}
