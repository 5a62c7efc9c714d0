package acptest

import (
	"io"
	"sync/atomic"

	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// wire is what an editor writes on. Lines that are given to send come between the
// editor's own.
type wire struct {
	io.WriteCloser
	proc.Shared
	// Breaks, if set, says in which pieces something is written. It is set in a Step.
	Breaks func(b []byte) (pieces [][]byte)
}

// Write writes what the connection sends.
func (w *wire) Write(b []byte) (n int, err error) {
	w.Step(func() {
		pieces := [][]byte{b}
		if w.Breaks != nil {
			pieces = w.Breaks(b)
		}
		for _, p := range pieces {
			if _, err = w.WriteCloser.Write(p); err != nil {
				return
			}
		}
		n = len(b)
	})
	return n, err
}

// gate is what an editor reads through. While it is shut the editor reads
// nothing.
type gate struct {
	r    io.Reader
	shut atomic.Pointer[chan struct{}] // closed when it opens; nil while it is open
}

func (g *gate) Read(b []byte) (int, error) {
	g.wait()
	n, err := g.r.Read(b)
	g.wait() // it was shut while this read waited
	return n, err
}

func (g *gate) wait() {
	if opens := g.shut.Load(); opens != nil {
		<-*opens
	}
}

// Close shuts the gate.
func (g *gate) Close() {
	opens := make(chan struct{})
	g.shut.CompareAndSwap(nil, &opens)
}

// Open lets the editor read on.
func (g *gate) Open() {
	if opens := g.shut.Swap(nil); opens != nil {
		close(*opens)
	}
}
