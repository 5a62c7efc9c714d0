package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

const source = `package p

func f(a, b int, log logger) {
	if a < b && g() {
		h(a)
		log.Warn("not this one")
	}
	if a > b || !g() {
		log.Warn("nor this one")
	}
}
`

// What is drawn is every small change to code that has tests, made where it
// stands, in an order that the seed gives.
func TestDraw(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"p/p.go": source, "p/p_test.go": "package p", "q/q.go": source, "ptest/p.go": source, "ptest/p_test.go": "package p",
		"m/go.mod": "module m", "m/n/p.go": source, "m/n/p_test.go": "package p", "go.mod": "module p"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	drawn, err := draw(root, regexp.MustCompile(""), 1)
	require.NoError(t, err)
	got := map[string]string{}
	for _, d := range drawn {
		require.Equal(t, "p", d.dir)
		got[d.name] = edited(source, d.edits)
	}
	line := "	if a < b && g() {\n"
	with := func(other string) string {
		return regexp.MustCompile(regexp.QuoteMeta(line)).ReplaceAllLiteralString(source, other)
	}
	require.Equal(t, map[string]string{
		"p/p.go f: negated: a < b && g()":       with("	if mutantNot(%d, a < b && g()) {\n"),
		"p/p.go f: && becomes ||: a < b && g()": with("	if mutantAnd(%d, a < b , func() bool { return ( g()) }) {\n"),
		"p/p.go f: < becomes <=: a < b":         with("	if mutantLess(%d, a , b) && g() {\n"),
		"p/p.go f: left out: h(a)":              regexp.MustCompile(`h\(a\)`).ReplaceAllLiteralString(source, "if !mutant(%d) { h(a) }"),
	}, got)
	again, err := draw(root, regexp.MustCompile(""), 1)
	require.NoError(t, err)
	require.Equal(t, drawn, again)
}

// Changes may be around each other and begin or end in the same place.
func TestEdited(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "p.go")
	require.NoError(t, os.WriteFile(path, []byte(source), 0o644))
	list, err := changes(path, "p.go")
	require.NoError(t, err)
	require.NoError(t, write(root, root, "state", list))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), "	if mutantNot(1, mutantAnd(2, mutantLess(3, a , b) , func() bool { return ( g()) })) {\n		if !mutant(4) { h(a) }\n")
}
