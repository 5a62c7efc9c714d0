package client

import (
	"bytes"
	"sync"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

const (
	tailLines = 10
	tailWidth = 500
	tailBytes = 8 << 10 // of a line that has not ended
)

// tail keeps the last lines of what is written to it, cleaned for people.
type tail struct {
	mu      sync.Mutex
	lines   []string
	partial []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(b)
	for {
		line, rest, more := bytes.Cut(b, []byte("\n"))
		if room := tailBytes - len(t.partial); len(line) > room {
			line = line[:room]
		}
		t.partial = append(t.partial, line...)
		if !more {
			return n, nil
		}
		t.keep()
		b = rest
	}
}

func (t *tail) keep() {
	line := clean.Truncate(clean.Line(string(t.partial)), tailWidth)
	t.partial = t.partial[:0]
	if line == "" {
		return
	}
	t.lines = append(t.lines, line)
	if len(t.lines) > tailLines {
		t.lines = append(t.lines[:0], t.lines[1:]...)
	}
}

// last returns the lines kept, the one that has not ended included.
func (t *tail) last() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.keep()
	return append([]string(nil), t.lines...)
}
