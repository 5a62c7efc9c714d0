package tty

import (
	"io"
	"strings"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// drawn are the terminals of this process that have a frame on them.
var drawn proc.Guarded[[]*Term]

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

func (b beside) Write(p []byte) (n int, err error) {
	drawn.Step(func(terms *[]*Term) {
		if len(*terms) == 0 {
			n, err = b.w.Write(p)
			return
		}
		(*terms)[len(*terms)-1].say(strings.Split(strings.TrimRight(clean.Block(string(p)), "\n"), "\n"))
		n = len(p)
	})
	return n, err
}

// say keeps lines until something is drawn, and sees to it that it is.
func (t *Term) say(lines []string) {
	t.due.Step(func(d *due) { d.said = append(d.said, lines...) })
	select {
	case t.spoken <- struct{}{}:
	default:
	}
}
