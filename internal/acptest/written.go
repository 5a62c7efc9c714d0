package acptest

import (
	"strings"
	"sync"
)

// Written is what was written to it so far, while others may still write.
type Written struct {
	mu   sync.Mutex
	text strings.Builder
}

// alone runs f while nobody else writes.
func (w *Written) alone(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
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
