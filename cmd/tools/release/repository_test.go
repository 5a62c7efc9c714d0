package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ARCHITECTURE.md names packages and functions that there are.
func TestArchitecture(t *testing.T) {
	text := document(t, "ARCHITECTURE.md")
	named := regexp.MustCompile("`((?:adapter|cmd|convert|display|internal)(?:/[a-z-]+)*)(?:/\\.\\.\\.)?`").FindAllStringSubmatch(text, -1)
	require.Greater(t, len(named), 30)
	for _, m := range named {
		require.DirExists(t, filepath.Join("../../..", m[1]))
	}
	for _, m := range regexp.MustCompile("`life\\.([A-Z][a-z]+)`").FindAllStringSubmatch(text, -1) {
		found := false
		for _, file := range glob(t, "../../../internal/life/*.go") {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			found = found || strings.Contains(string(data), "\nfunc "+m[1]+"(")
		}
		require.True(t, found, "life.%s", m[1])
	}
}

// CONTRIBUTING.md lists the switches of the tests: all of them, and no other.
func TestContributing(t *testing.T) {
	t.Parallel()
	text := document(t, "CONTRIBUTING.md")
	listed, used := map[string]bool{}, map[string]bool{}
	name := regexp.MustCompile(`\bACP_BRIDGE_[A-Z_]+`)
	for _, n := range name.FindAllString(text, -1) {
		listed[n] = true
	}
	script := document(t, ".ci/run")
	for _, n := range name.FindAllString(script, -1) {
		used[n] = true
	}
	read := regexp.MustCompile(`(?:Getenv|LookupEnv)\("(ACP_BRIDGE_[A-Z_]+)"\)`)
	require.NoError(t, filepath.WalkDir("../../..", func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "../../.." && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		data, err := os.ReadFile(path)
		for _, m := range read.FindAllStringSubmatch(string(data), -1) {
			used[m[1]] = true
		}
		return err
	}))
	for _, own := range []string{"ACP_BRIDGE_HUB", "ACP_BRIDGE_HUB_TOKEN", "ACP_BRIDGE_HUB_TEST"} { // of the product, or of a test for its children
		delete(used, own)
	}
	require.Greater(t, len(used), 10)
	require.Equal(t, used, listed)
}

// The README's numbers are those that were measured: the benchmark's table and the
// hub's have them, to the letter.
func TestReadmeNumbers(t *testing.T) {
	measured := map[string][]string{}
	for line := range strings.Lines(document(t, "cmd/tools/bench/doc.go")) {
		if row, ok := strings.CutPrefix(line, "//\t| "); ok {
			cells := strings.Split(row, "|")
			measured[strings.TrimSpace(cells[0])] = cells
		}
	}
	columns := measured[""]
	require.Equal(t, []string{" acp-bridge ", " claude-agent-acp "}, []string{columns[3], columns[5]})
	compared := 0
	for line := range strings.Lines(document(t, "README.md")) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "| ") || len(cells) != 3 || !strings.ContainsAny(cells[1], "0123456789") {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimSpace(cells[0]), " (")
		row := measured[name]
		require.NotNil(t, row, "the benchmark has no line %q", name)
		require.Equal(t, []string{row[3], row[5]}, cells[1:], name)
		compared++
	}
	require.GreaterOrEqual(t, compared, 4)
	load := regexp.MustCompile(`([\d,]+) answers a second`).FindStringSubmatch(strings.ReplaceAll(document(t, "README.md"), "\n", " "))
	require.NotNil(t, load)
	found := false
	for _, file := range glob(t, "../../../internal/hub/*.go") {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		found = found || strings.Contains(string(data), "| "+load[1]+" |")
	}
	require.True(t, found, "%s answers a second are not in the comment of internal/hub", load[1])
}

func document(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../..", name))
	require.NoError(t, err)
	return string(data)
}

func glob(t *testing.T, pattern string) []string {
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	return files
}
