package picker

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/internal/terminal/cells"
	"github.com/acp-bridge/acp-bridge/internal/terminal/tty"
)

func TestField(t *testing.T) {
	f := Field{Lines: true}
	type_ := func(keys ...string) {
		for _, k := range keys {
			switch {
			case strings.HasPrefix(k, "ctrl+"):
				f.Key(tty.Key{Name: k}, 10)
			case k == "left":
				f.Key(tty.Key{Name: "left"}, 10)
			case k == "up":
				f.Key(tty.Key{Name: "up"}, 10)
			case k == "back":
				f.Key(tty.Key{Name: "backspace"}, 10)
			default:
				f.Insert(k)
			}
		}
	}
	type_("e", "\u0301", "x", "left", "left", "back")
	require.Equal(t, "e\u0301x", f.String(), "nothing before the first character")
	type_("👨", "\u200d", "👩", "back")
	require.Equal(t, "e\u0301x", f.String(), "a joined emoji is one character")
	f.Set("one two three")
	type_("ctrl+w", "ctrl+w", "2")
	require.Equal(t, "one 2", f.String())
	type_("ctrl+a", "ctrl+k")
	require.Empty(t, f.String())
	f.Set("0123456789abc")
	type_("up", "!")
	require.Equal(t, "012!3456789abc", f.String(), "up by a line as shown")
	f = Field{}
	f.Insert("a\r\nb\x1b[31m\x00")
	require.Equal(t, "a b[31m", f.String(), "one line")
}

func TestFieldWraps(t *testing.T) {
	for _, tc := range []struct {
		text string
		w    int
		want []string
	}{
		{"one two three", 8, []string{"one two ", "three"}},
		{"one two three", 7, []string{"one two", "three"}},
		{"one   two", 3, []string{"one", "two"}},
		{"one twothreefour", 8, []string{"one ", "twothree", "four"}},
		{"onetwothree", 4, []string{"onet", "woth", "ree"}},
		{"a\n\nb c", 3, []string{"a", "", "b c"}},
		{"日本 語", 5, []string{"日本 ", "語"}},
		{"", 5, []string{""}},
		{"ends\n", 10, []string{"ends", ""}},
	} {
		f := Field{Lines: true}
		f.Set(tc.text)
		f.cursor = 0
		lines, row, col := f.Draw(tc.w, 10)
		require.Equal(t, tc.want, lines, "%q in %d", tc.text, tc.w)
		require.Equal(t, []int{0, 0}, []int{row, col})
	}
}

// Every place of the cursor has a column, and no line is too wide or loses
// anything.
func TestFieldCursor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := Field{Lines: true}
		f.Set(rapid.StringMatching(`[a-c日 \n]{0,40}`).Draw(t, "text"))
		w := rapid.IntRange(2, 12).Draw(t, "width")
		for f.cursor = 0; f.cursor <= len(f.cells); f.cursor++ {
			lines, row, col := f.layout(w)
			if row >= len(lines) || col >= w || col < 0 {
				t.Fatalf("the cursor %d of %q at %d, %d in %d columns", f.cursor, f.String(), row, col, w)
			}
			var all []string
			for _, l := range lines {
				if text := strings.TrimRight(strings.Join(f.cells[l.from:l.to], ""), " "); cells.Width(text) > w {
					t.Fatalf("%q in %d columns", text, w)
				}
				all = append(all, f.cells[l.from:l.to]...)
			}
			if strings.Join(all, "") != strings.ReplaceAll(f.String(), "\n", "") {
				t.Fatalf("%q became %q", f.String(), all)
			}
		}
	})
}

// A word to the right ends where the text does.
func TestWordRight(t *testing.T) {
	f := Field{}
	f.Set("one two")
	f.Key(tty.Key{Name: "ctrl+a"}, 80)
	for _, want := range []string{"one! two", "one! two!", "one! two!!"} {
		f.Key(tty.Key{Name: "ctrl+right"}, 80)
		f.Insert("!")
		require.Equal(t, want, f.String())
	}
}
