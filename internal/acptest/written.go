package acptest

import (
	"strings"
	"sync"
)

// turns lets one at a time have what it is a part of.
type turns struct{ mu sync.Mutex }

// alone runs f while nobody else does, and waits for nothing.
func (t *turns) alone(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
}

// Written is what was written to it so far, while others may still write.
type Written struct {
	turns
	text strings.Builder
}

func (w *Written) Write(b []byte) (int, error) {
	w.alone(func() { w.text.Write(b) })
	return len(b), nil
}

func (w *Written) String() (text string) {
	w.alone(func() { text = w.text.String() })
	return text
}

// Count is how often a text is in it.
func (w *Written) Count(text string) int { return strings.Count(w.String(), text) }
