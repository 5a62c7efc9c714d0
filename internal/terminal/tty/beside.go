package tty

import (
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// drawn are the terminals of this process that have a frame on them.
var drawn struct {
	sync.Mutex
	terms []*Term
}

// Beside is w for what is said to a person while something may be drawn on the
// same terminal: lines then stand above the frame, which stays whole. Where w is no
// terminal, they go there at once. A line is written with one Write.
func Beside(w io.Writer) io.Writer {
	if !IsTerminal(w) {
		return w
	}
	return beside{w}
}

type beside struct{ w io.Writer }

func (b beside) Write(p []byte) (int, error) {
	drawn.Lock()
	defer drawn.Unlock()
	n := len(drawn.terms)
	if n == 0 {
		return b.w.Write(p)
	}
	drawn.terms[n-1].say(strings.Split(strings.TrimRight(clean.Block(string(p)), "\n"), "\n"))
	return len(p), nil
}

// say keeps lines until something is drawn, and sees to it that it is.
func (t *Term) say(lines []string) {
	t.due.Step(func(d *due) { d.said = append(d.said, lines...) })
	select {
	case t.spoken <- struct{}{}:
	default:
	}
}

func (t *Term) draws() {
	drawn.Lock()
	defer drawn.Unlock()
	drawn.terms = append(drawn.terms, t)
}

// drew is the end of draws: what is said from here on is not this frame's.
func (t *Term) drew() {
	drawn.Lock()
	defer drawn.Unlock()
	drawn.terms = slices.DeleteFunc(drawn.terms, func(other *Term) bool { return other == t })
}
