package cells

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestWrap(t *testing.T) {
	require.Equal(t, []string{"a b", "c"}, Wrap("a b c", 3))
	require.Equal(t, []string{"abc", "def", "g"}, Wrap("abcdefg", 3))
	require.Equal(t, []string{"日本", "語"}, Wrap("日本語", 5))
	require.Equal(t, []string{""}, Wrap("", 5))
	require.Equal(t, []string{"a", "", "b"}, Wrap("a\n\nb", 5))
	require.Equal(t, []string{"a", "…"}, AtMost(Wrap("a b c d", 1), 2, 1))
	require.Equal(t, "日…", Cut("日本語", 4))
	require.Equal(t, "\x1b[1mab…\x1b[m", Cut("\x1b[1mabcdef\x1b[m", 3))
}

func TestWrapStyled(t *testing.T) {
	bold := Style{}.Strong
	require.Equal(t, []string{bold("one two"), bold("three") + " four"}, Wrap(bold("one two three")+" four", 10))
	require.Equal(t, []string{"one " + bold("two")}, Wrap("one "+bold("two"), 7))
	require.Equal(t, []string{bold("on"), bold("et"), bold("wo")}, Wrap(bold("onetwo"), 2))
	require.Equal(t, 6, Width(bold("onetwo")))
	require.Equal(t, "onetwo", Plain(bold("onetwo")))
}

// A wrapped text has all of its words, in lines that fit.
func TestWrapProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([a-c日]{1,8} ?){0,12}`).Draw(t, "text")
		w := rapid.IntRange(2, 20).Draw(t, "width")
		if rapid.Bool().Draw(t, "styled") {
			text = Style{}.Faint(text)
		}
		lines := Wrap(text, w)
		for _, l := range lines {
			if Width(l) > w {
				t.Fatalf("%q has %d columns of %d", l, Width(l), w)
			}
		}
		squash := func(s string) string { return strings.ReplaceAll(Plain(s), " ", "") }
		if squash(strings.Join(lines, "")) != squash(text) {
			t.Fatalf("%q became %q", text, lines)
		}
	})
}

// A text is wrapped anew for another width, and painted line by line.
func TestTextAt(t *testing.T) {
	text := Text{Lines: []string{"one two", "three"}, Paint: func(i int, piece string) string { return string(rune('0'+i)) + piece }}
	for range 2 {
		require.Equal(t, []string{"0one two", "1three"}, text.At(10))
	}
	require.Equal(t, []string{"0one", "0two", "1three"}, text.At(6))
	require.Equal(t, []string{"0one two", "1three"}, text.At(10))
}

func TestFirst(t *testing.T) {
	for s, want := range map[string]string{"": "", "a": "a", "ab": "a", "e\u0301x": "e\u0301", "\r\nx": "\r\n"} {
		c, rest := First(s)
		require.Equal(t, want, c)
		require.Equal(t, s, c+rest)
	}
}
