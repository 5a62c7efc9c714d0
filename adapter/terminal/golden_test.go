//go:build unix

package terminal_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/rivo/uniseg"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/acp-bridge/acp-bridge/adapter/terminal"
	"github.com/acp-bridge/acp-bridge/convert"
)

// TestGolden walks testdata: prose, the call, then any number of steps of keys
// and the screens they lead to, by size, then what is left on the terminal and
// the outcome. Each is drawn twice: from the model's View alone, and by a
// process on a real terminal.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			ar, err := txtar.ParseFile(file)
			require.NoError(t, err)
			if *update {
				rewrite(t, ar)
				require.NoError(t, os.WriteFile(file, txtar.Format(ar), 0o644))
			}
			g := parseGolden(t, ar)
			for _, size := range g.sizes {
				t.Run(size+"/view", func(t *testing.T) { g.view(t, size) })
				t.Run(size+"/terminal", func(t *testing.T) { g.terminal(t, size) })
			}
		})
	}
}

type golden struct {
	job     job
	sizes   []string
	steps   []step
	record  map[string]string
	outcome string
}

type step struct {
	keys    string
	screens map[string]string
}

func parseGolden(t *testing.T, ar *txtar.Archive) golden {
	t.Helper()
	g := golden{record: map[string]string{}}
	for _, f := range ar.Files {
		switch {
		case f.Name == "call.json":
			require.NoError(t, json.Unmarshal(f.Data, &g.job.Call))
		case f.Name == "choice.json":
			var q convert.Question
			require.NoError(t, json.Unmarshal(f.Data, &q))
			g.job.Choice, g.job.Call.Questions = true, []convert.Question{q}
		case f.Name == "keys":
			g.steps = append(g.steps, step{keys: string(f.Data), screens: map[string]string{}})
		case f.Name == "outcome.json":
			g.outcome = string(f.Data)
		case strings.HasPrefix(f.Name, "left "):
			g.record[strings.TrimPrefix(f.Name, "left ")] = string(f.Data)
		default:
			if len(g.steps) == 1 {
				g.sizes = append(g.sizes, f.Name)
			}
			g.steps[len(g.steps)-1].screens[f.Name] = string(f.Data)
		}
	}
	require.NotEmpty(t, g.sizes)
	return g
}

// rewrite draws all screens anew.
func rewrite(t *testing.T, ar *txtar.Archive) {
	t.Helper()
	models := map[string]*terminal.Model{}
	g := parseGolden(t, ar)
	for _, size := range g.sizes {
		models[size] = g.model(t, size)
	}
	last := models[g.sizes[0]]
	for i, f := range ar.Files {
		switch {
		case f.Name == "keys":
			for _, m := range models {
				press(t, m, string(f.Data))
			}
		case f.Name == "outcome.json":
			ar.Files[i].Data = outcomeJSON(t, last)
		case strings.HasPrefix(f.Name, "left "):
			ar.Files[i].Data = []byte(left(models[strings.TrimPrefix(f.Name, "left ")]))
		case models[f.Name] != nil:
			ar.Files[i].Data = []byte(drawn(models[f.Name]))
		}
	}
}

func (g golden) model(t *testing.T, size string) *terminal.Model {
	t.Helper()
	w, h := sizeOf(t, size)
	opts := &terminal.Options{Width: w, Height: h}
	if g.job.Choice {
		return terminal.NewChoice(g.job.Call.Questions[0], opts)
	}
	return terminal.New(g.job.Call, opts)
}

func (g golden) view(t *testing.T, size string) {
	m := g.model(t, size)
	for i, s := range g.steps {
		press(t, m, s.keys)
		if want, ok := s.screens[size]; ok {
			require.Equal(t, want, drawn(m), "screen %d", i+1)
		}
	}
	require.Equal(t, g.record[size], left(m))
	require.Equal(t, g.outcome, string(outcomeJSON(t, m)))
}

func (g golden) terminal(t *testing.T, size string) {
	w, h := sizeOf(t, size)
	c := start(t, g.job, w, h)
	c.waitFor(drawn(g.model(t, size))) // raw mode is on
	for _, s := range g.steps {
		c.Sends(keyBytes(t, s.keys))
		if want, ok := s.screens[size]; ok {
			c.waitFor(want)
		}
	}
	r := c.end()
	require.Empty(t, r.Err)
	got, err := json.MarshalIndent(r.Outcome, "", "  ")
	require.NoError(t, err)
	require.Equal(t, g.outcome, string(got)+"\n")
	c.wait("the record:\n"+g.record[size], func(s string) bool {
		s = strings.TrimRight(strings.ReplaceAll(s, "█", ""), "\n")
		want := strings.TrimRight(g.record[size], "\n")
		if strings.Count(want, "\n") >= h-1 { // the first lines have scrolled away
			return s != "" && strings.HasSuffix(want, "\n"+s)
		}
		return s == want
	})
}

func sizeOf(t *testing.T, size string) (w, h int) {
	t.Helper()
	_, err := fmt.Sscanf(size, "%dx%d", &w, &h)
	require.NoError(t, err, "a section's name: %s", size)
	return w, h
}

func outcomeJSON(t *testing.T, m *terminal.Model) []byte {
	t.Helper()
	o, done := m.Done()
	require.True(t, done, "the keys do not finish the picker")
	b, err := json.MarshalIndent(o, "", "  ")
	require.NoError(t, err)
	return append(b, '\n')
}

func left(m *terminal.Model) string { return strings.Join(m.Record(), "\n") + "\n" }

// drawn is the model's view as text, the cursor as a block.
func drawn(m *terminal.Model) string {
	v := m.View()
	lines := strings.Split(ansi.Strip(v.Content), "\n")
	if c := v.Cursor; c != nil {
		lines[c.Y] = withCursor(lines[c.Y], c.X)
	}
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

// withCursor puts a block in place of the character at column x.
func withCursor(line string, x int) string {
	var b strings.Builder
	at := 0
	for g := uniseg.NewGraphemes(line); g.Next(); at += ansi.StringWidthWc(g.Str()) {
		if at == x {
			b.WriteString("█")
			continue
		}
		b.WriteString(g.Str())
	}
	if at <= x {
		b.WriteString(strings.Repeat(" ", x-at) + "█")
	}
	return b.String()
}

// named are the keys that scripts name, and their bytes.
var named = map[string]struct {
	key   tea.Key
	bytes string
}{
	"up":        {tea.Key{Code: tea.KeyUp}, "\x1b[A"},
	"down":      {tea.Key{Code: tea.KeyDown}, "\x1b[B"},
	"right":     {tea.Key{Code: tea.KeyRight}, "\x1b[C"},
	"left":      {tea.Key{Code: tea.KeyLeft}, "\x1b[D"},
	"home":      {tea.Key{Code: tea.KeyHome}, "\x1b[H"},
	"end":       {tea.Key{Code: tea.KeyEnd}, "\x1b[F"},
	"pgup":      {tea.Key{Code: tea.KeyPgUp}, "\x1b[5~"},
	"pgdown":    {tea.Key{Code: tea.KeyPgDown}, "\x1b[6~"},
	"tab":       {tea.Key{Code: tea.KeyTab}, "\t"},
	"shift+tab": {tea.Key{Code: tea.KeyTab, Mod: tea.ModShift}, "\x1b[Z"},
	"enter":     {tea.Key{Code: tea.KeyEnter}, "\r"},
	"esc":       {tea.Key{Code: tea.KeyEscape}, "\x1b"},
	"space":     {tea.Key{Code: tea.KeySpace, Text: " "}, " "},
	"backspace": {tea.Key{Code: tea.KeyBackspace}, "\x7f"},
	"ctrl+c":    {tea.Key{Code: 'c', Mod: tea.ModCtrl}, "\x03"},
	"ctrl+d":    {tea.Key{Code: 'd', Mod: tea.ModCtrl}, "\x04"},
	"ctrl+j":    {tea.Key{Code: 'j', Mod: tea.ModCtrl}, "\n"},
	"ctrl+u":    {tea.Key{Code: 'u', Mod: tea.ModCtrl}, "\x15"},
	"ctrl+w":    {tea.Key{Code: 'w', Mod: tea.ModCtrl}, "\x17"},
	"ctrl+a":    {tea.Key{Code: 'a', Mod: tea.ModCtrl}, "\x01"},
}

// script calls f for each key of a script: words that are keys' names, other
// words letter by letter, and lines `paste "text"`.
func script(t *testing.T, keys string, key func(tea.Key, string), paste func(string)) {
	t.Helper()
	for line := range strings.Lines(keys) {
		line = strings.TrimSpace(line)
		if quoted, ok := strings.CutPrefix(line, "paste "); ok {
			text, err := strconv.Unquote(quoted)
			require.NoError(t, err, line)
			paste(text)
			continue
		}
		for _, word := range strings.Fields(line) {
			if k, ok := named[word]; ok {
				key(k.key, k.bytes)
				continue
			}
			for _, r := range word {
				key(tea.Key{Code: r, Text: string(r)}, string(r))
			}
		}
	}
}

func press(t *testing.T, m *terminal.Model, keys string) {
	t.Helper()
	script(t, keys, func(k tea.Key, _ string) { m.Update(tea.KeyPressMsg(k)) },
		func(text string) { m.Update(tea.PasteMsg{Content: text}) })
}

func keyBytes(t *testing.T, keys string) string {
	t.Helper()
	var b bytes.Buffer
	script(t, keys, func(_ tea.Key, s string) { b.WriteString(s) },
		func(text string) { b.WriteString("\x1b[200~" + strings.ReplaceAll(text, "\n", "\r") + "\x1b[201~") })
	return b.String()
}
