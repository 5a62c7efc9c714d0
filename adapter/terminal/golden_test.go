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

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/terminal/cells"
	"github.com/acp-bridge/acp-bridge/internal/terminal/picker"
	"github.com/acp-bridge/acp-bridge/internal/terminal/tty"
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
	models := map[string]*picker.Picker{}
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

func (g golden) model(t *testing.T, size string) *picker.Picker {
	t.Helper()
	w, h := sizeOf(t, size)
	o := picker.Options{Width: w, Height: h}
	if g.job.Choice {
		return picker.NewChoice(g.job.Call.Questions[0], o)
	}
	o.Markdown = true
	return picker.New(g.job.Call, o)
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

func outcomeJSON(t *testing.T, m *picker.Picker) []byte {
	t.Helper()
	o, done := m.Done()
	require.True(t, done, "the keys do not finish the picker")
	b, err := json.MarshalIndent(o, "", "  ")
	require.NoError(t, err)
	return append(b, '\n')
}

func left(m *picker.Picker) string { return strings.Join(m.Record(), "\n") + "\n" }

// drawn is the model's view as text, the cursor as a block.
func drawn(m *picker.Picker) string {
	lines, row, col := m.View()
	for i, l := range lines {
		l = cells.Plain(l)
		if i == row {
			l = withCursor(l, col)
		}
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

// withCursor puts a block in place of the character at column x.
func withCursor(line string, x int) string {
	var b strings.Builder
	at := 0
	for line != "" {
		c, rest := cells.First(line)
		if at == x {
			b.WriteString("█")
		} else {
			b.WriteString(c)
		}
		at += cells.Width(c)
		line = rest
	}
	if at <= x {
		b.WriteString(strings.Repeat(" ", x-at) + "█")
	}
	return b.String()
}

// named are the keys that scripts name, and their bytes.
var named = map[string]struct {
	key   tty.Key
	bytes string
}{
	"up":        {tty.Key{Name: "up"}, "\x1b[A"},
	"down":      {tty.Key{Name: "down"}, "\x1b[B"},
	"right":     {tty.Key{Name: "right"}, "\x1b[C"},
	"left":      {tty.Key{Name: "left"}, "\x1b[D"},
	"home":      {tty.Key{Name: "home"}, "\x1b[H"},
	"end":       {tty.Key{Name: "end"}, "\x1b[F"},
	"pgup":      {tty.Key{Name: "pgup"}, "\x1b[5~"},
	"pgdown":    {tty.Key{Name: "pgdown"}, "\x1b[6~"},
	"tab":       {tty.Key{Name: "tab"}, "\t"},
	"shift+tab": {tty.Key{Name: "shift+tab"}, "\x1b[Z"},
	"enter":     {tty.Key{Name: "enter"}, "\r"},
	"esc":       {tty.Key{Name: "esc"}, "\x1b"},
	"space":     {tty.Key{Name: "space", Text: " "}, " "},
	"backspace": {tty.Key{Name: "backspace"}, "\x7f"},
	"ctrl+c":    {tty.Key{Name: "ctrl+c"}, "\x03"},
	"ctrl+d":    {tty.Key{Name: "ctrl+d"}, "\x04"},
	"ctrl+j":    {tty.Key{Name: "ctrl+j"}, "\n"},
	"ctrl+o":    {tty.Key{Name: "ctrl+o"}, "\x0f"},
	"ctrl+u":    {tty.Key{Name: "ctrl+u"}, "\x15"},
	"ctrl+w":    {tty.Key{Name: "ctrl+w"}, "\x17"},
	"ctrl+a":    {tty.Key{Name: "ctrl+a"}, "\x01"},
}

// script calls f for each key of a script: words that are keys' names, other
// words letter by letter, and lines `paste "text"`.
func script(t *testing.T, keys string, key func(tty.Key, string), paste func(string)) {
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
				key(typed(r), string(r))
			}
		}
	}
}

func typed(r rune) tty.Key {
	if r == ' ' {
		return named["space"].key
	}
	return tty.Key{Name: string(r), Text: string(r)}
}

func press(t *testing.T, m *picker.Picker, keys string) {
	t.Helper()
	script(t, keys, func(k tty.Key, _ string) { m.Update(k) },
		func(text string) { m.Update(tty.Paste{Text: text}) })
}

func keyBytes(t *testing.T, keys string) string {
	t.Helper()
	var b bytes.Buffer
	script(t, keys, func(_ tty.Key, s string) { b.WriteString(s) },
		func(text string) { b.WriteString("\x1b[200~" + strings.ReplaceAll(text, "\n", "\r") + "\x1b[201~") })
	return b.String()
}
