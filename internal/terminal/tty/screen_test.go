package tty

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReflow counts the rows that lines take once a terminal wraps them anew.
func TestReflow(t *testing.T) {
	var out bytes.Buffer
	s := &screen{w: &out, width: 80, height: 24, reflows: true}
	s.draw([]string{strings.Repeat("x", 60), "short", "", "last"}, 3, 0)
	out.Reset()
	s.resize(20, 24)
	require.Contains(t, out.String(), "\x1b[5A", "three rows for the first line, and two")
	require.Contains(t, out.String(), eraseAll)

	s = &screen{w: &out, width: 80, height: 24}
	s.draw([]string{strings.Repeat("x", 60), "short", "", "last"}, 3, 0)
	out.Reset()
	s.resize(20, 24)
	require.Contains(t, out.String(), "\x1b[3A")
}

// TestDrawChanges writes the lines that differ and no others.
func TestDrawChanges(t *testing.T) {
	var out bytes.Buffer
	s := &screen{w: &out, width: 80, height: 24}
	s.draw([]string{"one", "two", "three"}, -1, 0)
	out.Reset()
	s.draw([]string{"one", "two", "three"}, -1, 0)
	require.Empty(t, out.String())
	s.draw([]string{"one", "TWO", "three"}, -1, 0)
	require.Contains(t, out.String(), "TWO")
	require.NotContains(t, out.String(), "one")
	require.NotContains(t, out.String(), "three")
}

func TestReflows(t *testing.T) {
	for _, tc := range []struct {
		env  map[string]string
		want bool
	}{
		{map[string]string{"TERM": "xterm-256color"}, true},
		{map[string]string{"TERM": "xterm-256color", "XTERM_VERSION": "XTerm(390)"}, false},
		{map[string]string{"TERM": "screen-256color", "TMUX": "/tmp/tmux", "XTERM_VERSION": "XTerm(390)"}, true},
		{map[string]string{"TERM": "linux"}, false},
	} {
		d := &Device{env: func(k string) string { return tc.env[k] }}
		require.Equal(t, tc.want, d.reflows(), "%v", tc.env)
	}
}

// A frame with fewer lines leaves nothing of the one before, and keeps its own.
func TestDrawLess(t *testing.T) {
	var out bytes.Buffer
	s := &screen{w: &out, width: 80, height: 24}
	s.draw([]string{"one", "two", "three"}, -1, 0)
	out.Reset()
	s.draw([]string{"one"}, -1, 0)
	require.Contains(t, out.String(), nextLine+eraseAll)
	require.Equal(t, 0, s.row, "the cursor is back where it was")
	out.Reset()
	s.draw(nil, -1, 0)
	require.Contains(t, out.String(), eraseAll)
	require.NotContains(t, out.String(), nextLine)
}
