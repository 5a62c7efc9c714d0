package ttytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
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

// PickerCase is one file of testdata: prose, the call, then any number of steps of keys and
// the screens they lead to, by size, then what is left on the terminal and the outcome.
type PickerCase struct {
	Choice bool
	Call   convert.Call
	Sizes  []string
}

var size = regexp.MustCompile(`^\d+x\d+$`)

// Parse reads what a file asks, and the sizes that it has.
func Parse(t testing.TB, ar *txtar.Archive) (g PickerCase) {
	t.Helper()
	for _, f := range ar.Files {
		switch {
		case f.Name == "call.json":
			require.NoError(t, json.Unmarshal(f.Data, &g.Call))
		case f.Name == "choice.json":
			g.Choice, g.Call.Questions = true, make([]convert.Question, 1)
			require.NoError(t, json.Unmarshal(f.Data, &g.Call.Questions[0]))
		case size.MatchString(f.Name) && !slices.Contains(g.Sizes, f.Name):
			g.Sizes = append(g.Sizes, f.Name)
		}
	}
	require.NotEmpty(t, g.Sizes)
	return g
}

// Model is the picker for the call.
func (g PickerCase) Model(t testing.TB, size string) *picker.Picker {
	t.Helper()
	w, h := SizeOf(t, size)
	o := picker.Options{Width: w, Height: h}
	if g.Choice {
		return picker.NewChoice(g.Call.Questions[0], o)
	}
	o.Markdown = true
	return picker.New(g.Call, o)
}

// SizeOf reads 80x24.
func SizeOf(t testing.TB, size string) (w, h int) {
	t.Helper()
	_, err := fmt.Sscanf(size, "%dx%d", &w, &h)
	require.NoError(t, err, "a section's name: %s", size)
	return w, h
}

// Drawn is the model's view as text, the cursor as a block.
func Drawn(m *picker.Picker) string {
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
	before := ""
	for line != "" && cells.Width(before) < x {
		c, rest := cells.First(line)
		before, line = before+c, rest
	}
	_, after := cells.First(line)
	return cells.Pad(before, x) + "█" + after
}

// named are the bytes of the keys that scripts name.
var named = map[string]string{
	"up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D", "home": "\x1b[H", "end": "\x1b[F",
	"pgup": "\x1b[5~", "pgdown": "\x1b[6~", "tab": "\t", "shift+tab": "\x1b[Z", "enter": "\r", "esc": "\x1b", "space": " ",
	"backspace": "\x7f", "ctrl+a": "\x01", "ctrl+c": "\x03", "ctrl+d": "\x04", "ctrl+j": "\n", "ctrl+o": "\x0f",
	"ctrl+u": "\x15", "ctrl+w": "\x17",
}

// script calls f for each key of a script: words that are keys' names, other
// words letter by letter, and lines `paste "text"`.
func script(t testing.TB, keys string, key func(tty.Key, string), paste func(string)) {
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
			if bytes, ok := named[word]; ok {
				key(Key(word), bytes)
				continue
			}
			for _, r := range word {
				key(Typed(r), string(r))
			}
		}
	}
}

// Typed is the key of a letter.
func Typed(r rune) tty.Key {
	if r == ' ' {
		return Key("space")
	}
	return tty.Key{Name: string(r), Text: string(r)}
}

// Press gives a picker the keys of a script.
func Press(t testing.TB, m *picker.Picker, keys string) {
	t.Helper()
	script(t, keys, func(k tty.Key, _ string) { m.Update(k) },
		func(text string) { m.Update(tty.Paste{Text: text}) })
}

// KeyBytes are the keys of a script as a terminal sends them.
func KeyBytes(t testing.TB, keys string) string {
	t.Helper()
	var b bytes.Buffer
	script(t, keys, func(_ tty.Key, s string) { b.WriteString(s) },
		func(text string) { b.WriteString("\x1b[200~" + strings.ReplaceAll(text, "\n", "\r") + "\x1b[201~") })
	return b.String()
}

// Key is the key of that name.
func Key(name string) tty.Key {
	return tty.Key{Name: name, Text: map[string]string{"space": " "}[name]}
}

// PickerOptions are those with these labels.
func PickerOptions(labels ...string) (out []convert.Option) {
	for _, l := range labels {
		out = append(out, convert.Option{Label: l})
	}
	return out
}
