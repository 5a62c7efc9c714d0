package proc

import (
	"bytes"
	"io"
	"sync"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

const (
	tailLines = 20
	tailWidth = 500
	tailBytes = 8 << 10 // of a line; the rest of it is not kept
)

// tail passes on what is written to it, and keeps the last lines, cleaned for
// people. It never fails.
type tail struct {
	to   io.Writer
	seen func(line string)

	mu      sync.Mutex
	lines   []string
	partial []byte
}

func (t *tail) Write(b []byte) (int, error) {
	for _, line := range t.add(b) {
		if t.seen != nil {
			t.seen(line)
		}
	}
	if t.to != nil {
		_, _ = t.to.Write(b)
	}
	return len(b), nil
}

// add returns the lines that ended.
func (t *tail) add(b []byte) (ended []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		line, rest, more := bytes.Cut(b, []byte("\n"))
		t.partial = append(t.partial, line[:min(len(line), tailBytes-len(t.partial))]...)
		if !more {
			return ended
		}
		if text := t.line(); text != "" {
			ended = append(ended, text)
			t.lines = append(t.lines, text)
			t.lines = t.lines[max(0, len(t.lines)-tailLines):]
		}
		t.partial = t.partial[:0]
		b = rest
	}
}

func (t *tail) line() string { return clean.Truncate(clean.Line(string(t.partial)), tailWidth) }

// last returns the last n lines, the one that has not ended included.
func (t *tail) last(n int) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := append([]string(nil), t.lines...)
	if text := t.line(); text != "" {
		lines = append(lines, text)
	}
	return lines[max(0, len(lines)-min(n, tailLines)):]
}
