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
	for name, text := range map[string]string{"p/p.go": source, "p/p_test.go": "package p", "q/q.go": source, "ptest/p.go": source, "ptest/p_test.go": "package p"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	drawn, err := draw(root, regexp.MustCompile(""), 1)
	require.NoError(t, err)
	got := map[string]string{}
	for _, m := range drawn {
		require.Equal(t, []tests{{pkg: "./p"}}, m.tests)
		got[m.title] = m.in(source)
	}
	line := "	if a < b && g() {\n"
	with := func(other string) string {
		return regexp.MustCompile(regexp.QuoteMeta(line)).ReplaceAllLiteralString(source, other)
	}
	require.Equal(t, map[string]string{
		"p/p.go:4:5: the condition is negated": with("	if !(a < b && g()) {\n"),
		"p/p.go:4:11: && becomes ||":           with("	if a < b || g() {\n"),
		"p/p.go:4:7: < becomes <=":             with("	if a <= b && g() {\n"),
		"p/p.go:5:3: a call is left out":       regexp.MustCompile(`h\(a\)`).ReplaceAllLiteralString(source, ""),
	}, got)
	again, err := draw(root, regexp.MustCompile(""), 1)
	require.NoError(t, err)
	require.Equal(t, drawn, again)
}
