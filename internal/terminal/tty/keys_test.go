package tty

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/seen"
)

// typing decodes chunks and then what is left, as after a pause.
func typing(chunks ...string) (names []string, pasted string) {
	d := decoder{now: time.Now}
	var events []any
	for _, c := range chunks {
		events = append(events, d.feed([]byte(c))...)
	}
	for _, ev := range append(events, d.flush()...) {
		switch ev := ev.(type) {
		case Key:
			names = append(names, ev.Name)
		case Paste:
			names, pasted = append(names, "paste"), pasted+ev.Text
		}
	}
	return names, pasted
}

func TestKeys(t *testing.T) {
	for in, want := range map[string]string{
		"a G é 日 1":                                "a space G space é space 日 space 1",
		"\r\t\x7f\n\x08":                           "enter tab backspace ctrl+j ctrl+h",
		"\x01\x03\x04\x1a\x00\x1f":                 "ctrl+a ctrl+c ctrl+d ctrl+z ctrl+space ctrl+_",
		"\x1b[A\x1b[B\x1b[C\x1b[D\x1b[H\x1b[F":     "up down right left home end",
		"\x1bOA\x1bOH":                             "up home",
		"\x1b[1;5C\x1b[1;3D\x1b[1;2A":              "ctrl+right alt+left shift+up",
		"\x1b[1~\x1b[4~\x1b[5~\x1b[6~\x1b[3~":      "home end pgup pgdown delete",
		"\x1b[3;5~\x1b[7^":                         "ctrl+delete ctrl+home",
		"\x1b[Z":                                   "shift+tab",
		"\x1bb\x1bf\x1b\r\x1b\x7f":                 "alt+b alt+f alt+enter alt+backspace",
		"\x1b":                                     "esc",
		"\x1b\x1b":                                 "esc",
		"\x1b\x1bx":                                "esc alt+x",
		"\x1b\x1b[A":                               "alt+up",
		"\x1b[13;2u\x1b[27;2;13~":                  "shift+enter shift+enter",
		"\x1b[97;5u\x1b[97u\x1b[97;2u":             "ctrl+a a A",
		"\x1b[27u\x1b[127;5u":                      "esc ctrl+backspace",
		"\x1b[97;1:3ux":                            "x", // let go
		"\x1b[24;80R\x1b[?62;1c\x1b[I\x1b[0nx":     "x", // replies and reports
		"\x1b]11;rgb:00/00/00\x1b\\x\x1b]0;t\x07y": "x y",
		"\x1bP1$r0m\x1b\\x":                        "x",
		"\x1b[[Ax":                                 "x", // F1 of the Linux console
		"\x1b[1;5\x01x":                            "ctrl+a x",
		"\xffx\u009bx":                             "x x",
		"\x1b[":                                    "alt+[",
		"\x1b[1;":                                  "",
		"\xe6\x97":                                 "",
	} {
		got, _ := typing(in)
		require.Equal(t, strings.Fields(want), append([]string{}, got...), "%q", in)
	}
}

// A key is the same however its bytes come, if they come at once.
func TestKeysInPieces(t *testing.T) {
	const in = "a\x1b[1;5Cé\x1bOA\x1b[200~pasted\x1b[201~日\x1b]0;t\x07\x1bb"
	whole, _ := typing(in)
	require.Equal(t, []string{"a", "ctrl+right", "é", "up", "paste", "日", "alt+b"}, whole)
	for i := range len(in) {
		got, pasted := typing(in[:i], in[i:])
		require.Equal(t, whole, got, "%q", in[:i])
		require.Equal(t, "pasted", pasted)
	}
	got, _ := typing(strings.Split(in, "")...)
	require.Equal(t, whole, got)
}

// FuzzKeys takes any bytes: a key has a name, its text is one character that
// is no control character, and the end comes.
func FuzzKeys(f *testing.F) {
	f.Add([]byte("a\x1b[1;5C"), []byte("\x1b[200~x\x1b[201~"))
	f.Add([]byte("\x1b\x1b\x1b[[\x1bO\x9b\xff"), []byte("\x1b[27;2;13~\x1b[99999999999u"))
	f.Fuzz(func(t *testing.T, one, two []byte) {
		d := decoder{now: time.Now}
		for _, ev := range append(append(d.feed(one), d.feed(two)...), d.flush()...) {
			k, ok := ev.(Key)
			if !ok {
				continue
			}
			if k.Name == "" || utf8.RuneCountInString(k.Text) > 1 || !utf8.ValidString(k.Name) {
				t.Fatalf("%+v", k)
			}
			for _, r := range k.Name + k.Text {
				if unicode.IsControl(r) {
					t.Fatalf("%+v", k)
				}
			}
		}
		if !d.pasting && len(d.held) > 0 {
			t.Fatalf("%q is held for ever", d.held)
		}
	})
}

// FuzzPaste takes of a paste nothing for a key, and what comes before and
// after it as if it were not there, however the bytes are cut up.
func FuzzPaste(f *testing.F) {
	f.Add([]byte("def"), 3)
	f.Add([]byte("\x1b[1"), 9)
	f.Add([]byte("\xff\x9b31m\x1b\x1b[A"), 0)
	f.Add([]byte("1\r2\n\t"), 7)
	f.Fuzz(func(t *testing.T, pasted []byte, at int) {
		if bytes.Contains(pasted, []byte("\x1b[20")) || bytes.Contains(pasted, []byte{3}) {
			t.Skip("markers of its own, or the Ctrl+C that ends a paste")
		}
		in := "a" + pasteStart + string(pasted) + pasteEnd + "b"
		at = max(0, min(at, len(in)))
		names, text := typing(in[:at], in[at:])
		require.Equal(t, []string{"a", "paste", "b"}, names)
		require.True(t, utf8.ValidString(text))
		for _, r := range text {
			require.True(t, !unicode.IsControl(r) || strings.ContainsRune("\r\n\t", r), "%U", r)
		}
	})
}

// A paste that never ends is left with Ctrl+C, and does not grow for ever.
func TestPasteEndless(t *testing.T) {
	names, _ := typing(pasteStart+"text", "\x03", "x")
	require.Equal(t, []string{"ctrl+c", "x"}, names)
	d := decoder{now: time.Now}
	d.feed([]byte(pasteStart))
	for range 3 {
		require.Empty(t, d.feed(bytes.Repeat([]byte("x"), maxPaste/2)))
		require.LessOrEqual(t, len(d.held), maxPaste)
	}
	events := d.feed([]byte(pasteEnd + "a"))
	require.Len(t, events, 2)
	require.LessOrEqual(t, len(events[0].(Paste).Text), maxPaste)
	require.Equal(t, "a", events[1].(Key).Name)
}

// Keys are those of fingers only if no other is near; what is pasted may end its paste,
// come in pieces, or letter by letter.
func TestBurst(t *testing.T) {
	t.Parallel()
	type piece struct {
		after time.Duration
		keys  string
	}
	const slow = 3 * seen.Burst
	for name, tc := range map[string]struct {
		pieces []piece
		want   string // keys of a burst with a *
	}{
		"fingers":                     {[]piece{{0, "1"}, {slow, "2"}, {slow, "\r"}}, "1 2 enter"},
		"one piece":                   {[]piece{{0, "1\r"}}, "*1 *enter"},
		"letter by letter":            {[]piece{{0, "1"}, {time.Millisecond, "."}, {time.Millisecond, "\r"}}, "*1 *. *enter"},
		"in pieces":                   {[]piece{{0, "ab"}, {slow, "\r"}}, "*a *b *enter"},
		"fingers behind a paste":      {[]piece{{0, "ab"}, {behindBurst, "\r"}}, "*a *b enter"},
		"a paste that ends itself":    {[]piece{{0, pasteStart + "x" + pasteEnd + "1\r" + pasteEnd}}, "paste *1 *enter"},
		"and in the next piece":       {[]piece{{0, pasteStart + "x" + pasteEnd}, {slow, "\r"}}, "paste *enter"},
		"an arrow in two pieces":      {[]piece{{0, "\x1b["}, {time.Millisecond, "A"}}, "up"},
		"a key, then the next sooner": {[]piece{{0, "1"}, {slow, "2"}, {seen.Burst - 1, "3"}}, "1 *2 *3"},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(0, 0)
			d := decoder{now: func() time.Time { return now }}
			var b burst
			var events []any
			for _, p := range tc.pieces {
				if p.after >= seen.Burst {
					events = append(events, b.take()...) // as the timer does
				}
				now = now.Add(p.after)
				events = append(events, b.add(d.feed([]byte(p.keys)), now)...)
			}
			var names []string
			for _, ev := range append(events, b.take()...) {
				switch ev := ev.(type) {
				case Key:
					names = append(names, map[bool]string{true: "*"}[ev.Burst]+ev.Name)
				case Paste:
					names = append(names, "paste")
				}
			}
			require.Equal(t, tc.want, strings.Join(names, " "))
		})
	}
}
