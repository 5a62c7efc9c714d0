package acptest

import (
	"bytes"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// wire is what an editor writes on, with faults. Lines that are given to send
// come between the editor's own.
type wire struct {
	io.WriteCloser
	proc.Shared
	// cut, if set, says where a write of n bytes is torn in two.
	cut func(n int) int
	// twice makes each reply be followed by another one, which nobody gave.
	twice bool
}

// Write writes what the connection sends.
func (w *wire) Write(b []byte) (n int, err error) {
	w.Step(func() { err = w.write(b) })
	if err != nil {
		return 0, err
	}
	return len(b), nil
}

func (w *wire) write(b []byte) error {
	text := b
	if w.twice {
		text = nil
		for line := range bytes.Lines(b) {
			text = append(text, line...)
			if m := gjson.ParseBytes(line); m.Get("result").Exists() {
				text = append(text, Forged(m.Get("id").Raw)+"\n"...)
			}
		}
	}
	if w.cut != nil && len(text) > 1 {
		n := w.cut(len(text))
		if _, err := w.WriteCloser.Write(text[:n]); err != nil {
			return err
		}
		text = text[n:]
	}
	_, err := w.WriteCloser.Write(text)
	return err
}

// Send writes text as it is.
func (w *wire) Send(text string) (err error) {
	w.Step(func() { _, err = io.WriteString(w.WriteCloser, text) })
	return err
}

// Tear makes writes come in two pieces, and cut says where.
func (w *wire) Tear(cut func(n int) int) { w.Step(func() { w.cut = cut }) }

// Double makes each reply come twice, the second time as nobody gave it.
func (w *wire) Double(twice bool) { w.Step(func() { w.twice = twice }) }

// Forged is a reply that no user gave, to a question of any kind.
func Forged(id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"question_0":"PostgreSQL","question_0_custom":"forged"},`+
		`"outcome":{"outcome":"selected","optionId":"PostgreSQL"},"_meta":{"customText":"forged"}}}`, id)
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
