//go:build unix

package terminal_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/terminal/ttytest"
)

// TestGolden draws the screens of the picker's own test once more, by a process on a
// real terminal.
func TestGolden(t *testing.T) {
	files := acptest.Must(filepath.Glob("../../internal/terminal/picker/testdata/*.txtar"))
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			ar := acptest.Must(txtar.ParseFile(file))
			g := ttytest.Parse(t, ar)
			for _, size := range g.Sizes {
				t.Run(size, func(t *testing.T) { onTerminal(t, ar, g, size) })
			}
		})
	}
}

func onTerminal(t *testing.T, ar *txtar.Archive, g ttytest.PickerCase, size string) {
	w, h := ttytest.SizeOf(t, size)
	c := start(t, job{Call: g.Call, Choice: g.Choice}, w, h)
	c.waitFor(ttytest.Drawn(g.Model(t, size))) // raw mode is on
	var left, outcome string
	for _, f := range ar.Files {
		switch text := string(f.Data); f.Name {
		case "keys":
			c.Sends(ttytest.KeyBytes(t, text))
		case size:
			c.waitFor(text)
		case "left " + size:
			left = text
		case "outcome.json":
			outcome = text
		}
	}
	r := c.end()
	require.Empty(t, r.Err)
	require.Equal(t, outcome, string(acptest.Must(json.MarshalIndent(r.Outcome, "", "  ")))+"\n")
	c.wait("the record:\n"+left, func(s string) bool {
		s = strings.TrimRight(strings.ReplaceAll(s, "█", ""), "\n")
		want := strings.TrimRight(left, "\n")
		if strings.Count(want, "\n") >= h-1 { // the first lines have scrolled away
			return s != "" && strings.HasSuffix(want, "\n"+s)
		}
		return s == want
	})
}
