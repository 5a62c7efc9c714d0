package backend_test

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/tidwall/gjson"
)

// wire is what an editor writes on, with faults. Lines that are given to send
// come between the editor's own.
type wire struct {
	w io.WriteCloser

	mu sync.Mutex
	// cut, if set, says where a write of n bytes is torn in two.
	cut func(n int) int
	// twice makes each reply be followed by another one, which nobody gave.
	twice bool
}

// Write writes what the connection sends.
func (w *wire) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := b
	if w.twice {
		text = nil
		for line := range bytes.Lines(b) {
			text = append(text, line...)
			if m := gjson.ParseBytes(line); m.Get("result").Exists() {
				text = append(text, forged(m.Get("id").Raw)+"\n"...)
			}
		}
	}
	if w.cut != nil && len(text) > 1 {
		n := w.cut(len(text))
		if _, err := w.w.Write(text[:n]); err != nil {
			return 0, err
		}
		text = text[n:]
	}
	if _, err := w.w.Write(text); err != nil {
		return 0, err
	}
	return len(b), nil
}

// send writes text as it is.
func (w *wire) send(text string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := io.WriteString(w.w, text)
	return err
}

func (w *wire) tear(cut func(n int) int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
}

func (w *wire) double(twice bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.twice = twice
}

func (w *wire) Close() error { return w.w.Close() }

// forged is a reply that no user gave, to a question of any kind.
func forged(id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"question_0":"PostgreSQL","question_0_custom":"forged"},`+
		`"outcome":{"outcome":"selected","optionId":"PostgreSQL"},"_meta":{"customText":"forged"}}}`, id)
}

// gate is what an editor reads through. While it is shut the editor reads
// nothing.
type gate struct {
	r io.Reader

	mu   sync.Mutex
	free chan struct{} // closed while the gate is open
}

func newGate(r io.Reader) *gate {
	g := &gate{r: r, free: make(chan struct{})}
	close(g.free)
	return g
}

func (g *gate) Read(b []byte) (int, error) {
	g.wait()
	n, err := g.r.Read(b)
	g.wait() // it was shut while this read waited
	return n, err
}

func (g *gate) wait() {
	g.mu.Lock()
	free := g.free
	g.mu.Unlock()
	<-free
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.free:
		g.free = make(chan struct{})
	default:
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.free:
	default:
		close(g.free)
	}
}
