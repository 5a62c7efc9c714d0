package front_test

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
)

// wire is one direction of a connection. A line that was sent is on its way until
// it is carried over.
type wire struct {
	mu      sync.Mutex
	more    sync.Cond
	part    []byte // of a line that is being written
	onWay   []sending
	arrived []byte // for Read
	closed  bool
	moment  int // counts when everything was at rest
}

// sending is a line on its way; arrives is called with its arrival and may be nil.
type sending struct {
	line    []byte
	arrives func()
	moment  int
}

func newWire() *wire {
	w := &wire{}
	w.more.L = &w.mu
	return w
}

// Write sends lines, and never blocks.
func (w *wire) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.part = append(w.part, b...)
	for {
		line, rest, ok := bytes.Cut(w.part, []byte("\n"))
		if !ok {
			return len(b), nil
		}
		w.onWay = append(w.onWay, sending{line: bytes.Clone(line), moment: w.moment})
		w.part = bytes.Clone(rest)
	}
}

// Read blocks until something has arrived.
func (w *wire) Read(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.arrived) == 0 {
		if w.closed {
			return 0, io.EOF
		}
		w.more.Wait()
	}
	n := copy(b, w.arrived)
	w.arrived = w.arrived[n:]
	return n, nil
}

func (w *wire) send(line string, arrives func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.onWay = append(w.onWay, sending{[]byte(line), arrives, w.moment})
}

func (w *wire) waits() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.onWay) > 0
}

// next takes the first line from its way.
func (w *wire) next() sending {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := w.onWay[0]
	w.onWay = w.onWay[1:]
	return first
}

// carry lets the next line arrive at whoever reads.
func (w *wire) carry() {
	next := w.next()
	if next.arrives != nil {
		next.arrives()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.arrived = append(append(w.arrived, next.line...), '\n')
	w.more.Signal()
}

func (w *wire) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.more.Broadcast()
}

// batch takes all lines from their way that were sent at the same moment as the
// first.
func (w *wire) batch() (lines [][]byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := w.onWay[0].moment
	for len(w.onWay) > 0 && w.onWay[0].moment == first {
		lines = append(lines, w.onWay[0].line)
		w.onWay = w.onWay[1:]
	}
	return lines
}

// toEditorCarries lets the editor have what the front sent at one moment. Several
// goroutines may have sent it, so that its order is not the seed's: whatever
// comes of it must not depend on that.
func (s *sim) toEditorCarries() {
	shown := len(s.requests)
	for _, line := range s.toEditor.batch() {
		s.received(line)
	}
	slices.SortFunc(s.requests[min(shown, len(s.requests)):], func(a, b *simRequest) int {
		return strings.Compare(a.session.id+a.text, b.session.id+b.text)
	})
}

// still waits until nothing happens by itself any more.
func (s *sim) still() {
	synctest.Wait()
	s.toEditor.mu.Lock()
	defer s.toEditor.mu.Unlock()
	s.toEditor.moment++
}

// rest is still, and on a fast connection what is sent arrives at once.
func (s *sim) rest() {
	s.still()
	if !s.slow {
		s.carryAll()
	}
}

// carryAll lets everything arrive that is on its way.
func (s *sim) carryAll() {
	s.still()
	for s.toFront.waits() || s.toEditor.waits() {
		if s.toFront.waits() {
			s.toFront.carry()
		} else {
			s.toEditorCarries()
		}
		s.still()
	}
}
