package terminal

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
)

// TestReflow counts the rows that lines take once a terminal wraps them anew.
func TestReflow(t *testing.T) {
	var out bytes.Buffer
	s := &screen{w: &out, width: 80, height: 24, reflows: true}
	s.draw([]string{strings.Repeat("x", 60), "short", "", "last"}, -1, 0)
	out.Reset()
	s.resize(20, 24)
	require.Contains(t, out.String(), "\x1b[5A", "three rows for the first line, and two")
	require.Contains(t, out.String(), eraseBelow)

	s = &screen{w: &out, width: 80, height: 24}
	s.draw([]string{strings.Repeat("x", 60), "short", "", "last"}, -1, 0)
	out.Reset()
	s.resize(20, 24)
	require.Contains(t, out.String(), "\x1b[3A")
	out.Reset()
	s.resize(20, 24)
	require.Empty(t, out.String(), "the same size is no resize")
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
		d := &device{env: func(k string) string { return tc.env[k] }}
		require.Equal(t, tc.want, d.reflows(), "%v", tc.env)
	}
}

func TestField(t *testing.T) {
	f := field{lines: true}
	type_ := func(keys ...string) {
		for _, k := range keys {
			switch {
			case strings.HasPrefix(k, "ctrl+"):
				f.key(tea.KeyPressMsg{Code: rune(k[5]), Mod: tea.ModCtrl}, 10)
			case k == "left":
				f.key(tea.KeyPressMsg{Code: tea.KeyLeft}, 10)
			case k == "up":
				f.key(tea.KeyPressMsg{Code: tea.KeyUp}, 10)
			case k == "back":
				f.key(tea.KeyPressMsg{Code: tea.KeyBackspace}, 10)
			default:
				f.insert(k)
			}
		}
	}
	type_("e", "\u0301", "x", "left", "left", "back")
	require.Equal(t, "e\u0301x", f.String(), "nothing before the first character")
	type_("👨", "\u200d", "👩", "back")
	require.Equal(t, "e\u0301x", f.String(), "a joined emoji is one character")
	f.set("one two three")
	type_("ctrl+w", "ctrl+w", "2")
	require.Equal(t, "one 2", f.String())
	type_("ctrl+a", "ctrl+k")
	require.Empty(t, f.String())
	f.set("0123456789abc")
	type_("up", "!")
	require.Equal(t, "012!3456789abc", f.String(), "up by a line as shown")
	f = field{}
	f.insert("a\r\nb\x1b[31m\x00")
	require.Equal(t, "a b[31m", f.String(), "one line")
}

func TestWrap(t *testing.T) {
	require.Equal(t, []string{"a b", "c"}, wrap("a b c", 3))
	require.Equal(t, []string{"abc", "def", "g"}, wrap("abcdefg", 3))
	require.Equal(t, []string{"日本", "語"}, wrap("日本語", 5))
	require.Equal(t, []string{""}, wrap("", 5))
	require.Equal(t, []string{"a", "", "b"}, wrap("a\n\nb", 5))
	require.Equal(t, []string{"a", "…"}, atMost(wrap("a b c d", 1), 2, 1))
	require.Equal(t, "日…", cut("日本語", 4))
	require.Equal(t, "\x1b[1mab…\x1b[m", cut("\x1b[1mabcdef\x1b[m", 3))
}

// FuzzParse takes any line: it is an answer or says what is wrong, and only
// one of the two.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"1", "1,2", "other x", "Jest", "", ",", "0", "99999999999999999999", "other", "1, other 2, 3", "\x00"} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, text string, multi bool) {
		s := newSheet(convert.Question{Text: "Q", MultiSelect: multi,
			Options: []convert.Option{{Label: "Jest"}, {Label: "Vitest"}, {Label: "2"}}}, false)
		say := s.parse(text)
		switch a := s.result(); {
		case say != "" && !a.Empty():
			t.Fatalf("%q is wrong (%s) and an answer: %+v", text, say, a)
		case say == "" && a.Empty() && !s.wantsText():
			t.Fatalf("%q is neither wrong nor an answer", text)
		case !multi && len(a.Items()) > 1:
			t.Fatalf("%q: %+v", text, a)
		}
		for _, r := range say {
			if r < ' ' {
				t.Fatalf("%q in %q", r, say)
			}
		}
	})
}

// FuzzPaste hands on all that is not pasted as it is, and of a paste nothing
// that could be taken for a key, however the bytes are cut up.
func FuzzPaste(f *testing.F) {
	f.Add([]byte("abc\x1b"), []byte("def"), []byte("x"))
	f.Add([]byte("\x1b[2"), []byte("\x1b[1"), []byte("\x1b["))
	f.Add([]byte("\xff\x9b31m\x03"), []byte(""), []byte("\x1b[A"))
	f.Fuzz(func(t *testing.T, before, pasted, after []byte) {
		for _, b := range [][]byte{before, pasted, after} {
			if bytes.Contains(b, []byte("\x1b[20")) {
				t.Skip("markers of its own")
			}
		}
		if bytes.HasPrefix(after, []byte{3}) || bytes.Contains(pasted, []byte{3}) {
			t.Skip("a Ctrl+C may end a paste")
		}
		in := string(before) + pasteStart + string(pasted) + pasteEnd + string(after)
		for _, r := range []io.Reader{strings.NewReader(in), iotest.DataErrReader(strings.NewReader(in))} {
			got, err := io.ReadAll(&pasteReader{r: r})
			require.NoError(t, err)
			head, rest, ok := strings.Cut(string(got), pasteStart)
			require.True(t, ok)
			require.Equal(t, string(before), head)
			body, tail, ok := strings.Cut(rest, pasteEnd)
			require.True(t, ok)
			require.NotContains(t, body, "\x1b")
			require.True(t, utf8.ValidString(body))
			require.True(t, strings.HasPrefix(string(after), tail))
			require.Less(t, len(after)-len(tail), len(pasteStart), "what looks like half a marker waits")
		}
	})
}

// TestPasteEndless is left with Ctrl+C.
func TestPasteEndless(t *testing.T) {
	p := &pasteReader{}
	p.take([]byte(pasteStart + "text"))
	require.Empty(t, p.ready)
	p.take([]byte{3})
	require.Equal(t, []byte{3}, p.ready)
	p = &pasteReader{}
	p.take([]byte(pasteStart))
	for range 3 {
		p.take(bytes.Repeat([]byte("x"), maxPaste/2))
	}
	p.take([]byte(pasteEnd + "after"))
	require.LessOrEqual(t, len(p.ready), maxPaste+2*len(pasteStart)+len("after"))
	require.True(t, bytes.HasSuffix(p.ready, []byte(pasteEnd+"after")))
}
