package ttytest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEmulator(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"lines":                 {"one\r\ntwo", "one\ntwo█\n"},
		"a line feed alone":     {"one\ntwo", "one\n   two█\n"},
		"overwriting":           {"one\rO", "O█e\n"},
		"autowrap":              {"12345678901", "1234567890\n1█\n"},
		"a full line waits":     {"1234567890\r\nx", "1234567890\nx█\n"},
		"no autowrap":           {"\x1b[?7l123456789012", "123456789█\n"},
		"wide characters":       {"日本\rx", "x█本\n"},
		"a wide one at the end": {"123456789日", "123456789\n日█\n"},
		"an accent":             {"e\u0301x", "e\u0301x█\n"},
		"a family":              {"👨\u200d👩\u200d👧x", "👨\u200d👩\u200d👧x█\n"},
		"the cursor moves":      {"one\r\ntwo\x1b[A\r\x1b[2C!", "on!█\ntwo\n"},
		"erasing to the right":  {"one\r\x1b[C\x1b[K", "o█\n"},
		"erasing below":         {"one\r\ntwo\r\nsix\x1b[2A\r\x1b[J", "█\n"},
		"no cursor":             {"one\x1b[?25l", "one\n"},
		"attributes":            {"\x1b[1;36mone\x1b[m", "one█\n"},
		"scrolling":             {"1\r\n2\r\n3\r\n4\r\n5\r\n6", "2\n3\n4\n5\n6█\n"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, piece := range []int{len(tc.in), 1} {
				e := newEmulator(10, 5, false)
				for b := []byte(tc.in); len(b) > 0; b = b[min(piece, len(b)):] {
					_, _ = e.Write(b[:min(piece, len(b))])
				}
				require.Equal(t, tc.want, e.text(e.rows, e.cursor))
				require.Empty(t, e.problem())
			}
		})
	}
}

func TestEmulatorReports(t *testing.T) {
	for _, in := range []string{"\x1b[6n", "\x1b]0;title\a", "\x1b[?1049h", "\x1bc", "\a", "\u009b2J", "\x1b[2J", "\x1b[10;10H", "\x1b[3J"} {
		e := newEmulator(10, 5, false)
		_, _ = e.Write([]byte(in))
		require.NotEmpty(t, e.problem(), "%q", in)
	}
}

// What tmux 3.3a was seen to do: the screen is the last rows, blank ones
// included, so that a line that wraps pushes the first row out.
func TestEmulatorResizes(t *testing.T) {
	for name, tc := range map[string]struct {
		in            string
		reflows       bool
		w, h          int
		want, history string
	}{
		"narrower":            {"123456\r\nab", false, 4, 5, "1234\nab█\n", "\n"},
		"narrower, reflowed":  {"123456\r\nab\x1b[A\r", true, 4, 5, "█6\nab\n", "1234\n"},
		"and pushed out":      {"1\r\n2\r\n3\r\n4\r\n123456", true, 4, 5, "2\n3\n4\n1234\n56█\n", "1\n"},
		"lower, from below":   {"1\r\n2\r\n3\x1b[2A", false, 10, 2, "1█\n2\n", "\n"},
		"lower, from above":   {"1\r\n2\r\n3", false, 10, 2, "2\n3█\n", "1\n"},
		"higher":              {"1\r\n2\r\n3\r\n4\r\n5\r\n6", false, 10, 6, "2\n3\n4\n5\n6█\n", "1\n"},
		"higher, taken back":  {"1\r\n2\r\n3\r\n4\r\n5\r\n6", true, 10, 6, "1\n2\n3\n4\n5\n6█\n", "\n"},
		"a line that wrapped": {"1234567890ab", true, 20, 5, "1234567890ab█\n", "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEmulator(10, 5, tc.reflows)
			_, _ = e.Write([]byte(tc.in))
			e.resize(tc.w, tc.h)
			require.Equal(t, tc.want, e.text(e.rows, true))
			require.Equal(t, tc.history, e.text(e.history, false))
		})
	}
}
