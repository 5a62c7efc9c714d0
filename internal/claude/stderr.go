package claude

import (
	"errors"
	"io"
	"strings"
	"sync"
	"unicode"

	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

const (
	stderrLines = 20
	stderrWidth = 500 // runes of a line that are kept
)

// tail keeps the last lines of the CLI's stderr, cleaned for people.
type tail struct {
	mu    sync.Mutex
	lines []string
}

// collect reads r to its end. Each line is passed to seen.
func (t *tail) collect(r io.Reader, seen func(string)) {
	lines := ndjson.NewReader(r, 64<<10)
	for {
		text, err := lines.Next()
		if errors.As(err, new(*ndjson.TooLong)) {
			text, err = []byte("(a line of more than 64 kB)"), nil
		}
		if s := cleanLine(string(text)); s != "" {
			t.add(s)
			seen(s)
		}
		if err != nil {
			return
		}
	}
}

func (t *tail) add(s string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, s)
	if len(t.lines) > stderrLines {
		t.lines = append(t.lines[:0], t.lines[1:]...)
	}
}

func (t *tail) last() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.lines...)
}

// cleanLine drops escape sequences, control and formatting characters, and
// what is over the width.
func cleanLine(s string) string {
	var b strings.Builder
	n := 0
	runes := []rune(strings.ToValidUTF8(s, "\ufffd"))
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case r == '\x1b':
			i = skipEscape(runes, i)
			continue
		case r == '\t':
			r = ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			continue
		}
		if n == stderrWidth {
			b.WriteRune('…')
			break
		}
		b.WriteRune(r)
		n++
	}
	return strings.TrimSpace(b.String())
}

// skipEscape returns the index of the last rune of the escape sequence that
// starts at i.
func skipEscape(runes []rune, i int) int {
	if i+1 >= len(runes) {
		return i
	}
	switch runes[i+1] {
	case '[': // CSI: parameters, then one final byte
		for j := i + 2; j < len(runes); j++ {
			if runes[j] >= 0x40 && runes[j] <= 0x7e {
				return j
			}
		}
		return len(runes) - 1
	case ']', 'P', 'X', '^', '_': // OSC and other strings: to BEL or ST
		for j := i + 2; j < len(runes); j++ {
			if runes[j] == '\a' {
				return j
			}
			if runes[j] == '\x1b' && j+1 < len(runes) && runes[j+1] == '\\' {
				return j + 1
			}
		}
		return len(runes) - 1
	}
	return i + 1
}
