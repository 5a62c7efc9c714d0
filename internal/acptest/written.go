package acptest

import (
	"strings"

	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// Written is what was written to it so far, while others may still write.
type Written struct {
	proc.Shared
	text strings.Builder
}

func (w *Written) Write(b []byte) (int, error) {
	w.Step(func() { w.text.Write(b) })
	return len(b), nil
}

func (w *Written) String() (text string) {
	w.Step(func() { text = w.text.String() })
	return text
}

// Count is how often a text is in it.
func (w *Written) Count(text string) int { return strings.Count(w.String(), text) }
