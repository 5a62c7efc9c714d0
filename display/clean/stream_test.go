package clean_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

func TestTerminal(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"plain", "one\n\ttwo\n", "one\n\ttwo\n"},
		{"colours stay", "\x1b[1;31mred\x1b[0m \x1b[38:5:1mx\x1b[m", "\x1b[1;31mred\x1b[0m \x1b[38:5:1mx\x1b[m"},
		{"carriage returns stay", "10%\r20%\r\n", "10%\r20%\r\n"},
		{"cursor and screen", "\x1b[2J\x1b[Ha\x1b[3Ab\x1b[K\x1b7\x1bc", "ab"},
		{"private modes that end like a colour", "a\x1b[>4;1mb\x1b[?1m", "ab"},
		{"clipboard", "a\x1b]52;c;cm0gLXJm\ab", "ab"},
		{"title and links", "\x1b]0;t\a\x1b]8;;http://e\x1b\\link\x1b]8;;\x1b\\", "link"},
		{"device reports", "a\x1b[6n\x1bP$q\"p\x1b\\b", "ab"},
		{"eight bits", "\u009b31mred \x9b31mred", "red red"},
		{"bidi, backspace, bell", "a\u202eb\b\ac", "abc"},
		{"line breaks of other kinds", "a\vb\u2028c", "a\nb\nc"},
	} {
		t.Run(tc.name, func(t *testing.T) { require.Equal(t, tc.want, clean.Terminal(tc.in)) })
	}
}

func TestWhole(t *testing.T) {
	for _, tc := range []struct{ whole, rest string }{
		{"", ""}, {"plain", ""}, {"é", ""}, {"a", "\xc3"}, {"a", "\xf0\x9f\x98"}, {"a\xff", ""},
		{"a", "\x1b"}, {"a", "\x1b["}, {"a", "\x1b[31"}, {"a", "\x1b[1;3"}, {"a\x1b[31m", ""}, {"a\x1b[31mb", ""},
		{"a", "\x1b("}, {"a\x1b(B", ""}, {"a\x1bc", ""}, {"a\x1b[é", ""},
		{"a", "\x1b]0;title"}, {"a", "\x1b]0;title\x1b"}, {"a\x1b]0;title\x1b\\", ""}, {"a\x1b]0;title\a", ""}, {"a\x1b]0;title\n", ""},
		{"a", "\x1bPq"}, {"a\x1b]0;" + strings.Repeat("x", 300), ""},
	} {
		require.Equal(t, len(tc.whole), clean.Whole(tc.whole+tc.rest), "%q %q", tc.whole, tc.rest)
	}
}

var sgr = regexp.MustCompile("\x1b\\[[0-9;:]*m")

func TestTerminalProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		out := clean.Terminal(text(t))
		require.Equal(t, out, clean.Terminal(out), "idempotent")
		for _, r := range sgr.ReplaceAllString(out, "") {
			require.False(t, r != '\r' && dangerous(r), "%q in %q", r, out)
		}
	})
}

// TestTerminalInPieces reads text in pieces, as it is written by a command.
func TestTerminalInPieces(t *testing.T) {
	piece := rapid.OneOf(
		rapid.StringMatching(`[a-zé😀 \n]{0,9}`),
		rapid.SampledFrom([]string{"\x1b[31m", "\x1b[0m", "\x1b[2J", "\x1b]0;títle\a", "\x1b]8;;http://e\x1b\\", "\x1b(B", "\x1bc", "\r", "\r\n", "👨‍👩‍👧"}),
	)
	rapid.Check(t, func(t *rapid.T) {
		all := strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "text"), "")
		var out, rest strings.Builder
		for left := all; left != ""; {
			n := rapid.IntRange(1, len(left)).Draw(t, "n")
			pending := rest.String() + left[:n]
			left = left[n:]
			whole := clean.Whole(pending)
			out.WriteString(clean.Terminal(pending[:whole]))
			rest.Reset()
			rest.WriteString(pending[whole:])
		}
		require.Empty(t, rest.String())
		require.Equal(t, clean.Terminal(all), out.String())
	})
}
