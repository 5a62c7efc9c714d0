package proxy

import (
	"bytes"
	"context"
	"io"
	"sync/atomic"

	"github.com/acp-bridge/acp-bridge/internal/conn"
	"github.com/acp-bridge/acp-bridge/internal/seen"
)

// outlet is where lines go to a peer. One goroutine passes on what the other
// peer sent and waits for this one to take it; lines of our own go between and
// wait for nobody.
type outlet struct {
	w     io.Writer
	trace func(line []byte) // nil, or for each line
	lane  *conn.Lane[byte]  // whoever has it writes; lines of our own are posted

	err atomic.Pointer[writeError] // no line is taken any more
	// given is how many bytes the peer was ever meant to get, written how many its
	// pipe has taken. A line counts before it has its place.
	given, written atomic.Uint64
	pipe           seen.Pipe
}

func newOutlet(w io.Writer, trace func(line []byte)) *outlet {
	o := &outlet{w: w, trace: trace}
	o.lane = conn.NewLane(o.write)
	o.pipe = seen.NewPipe(w, o.written.Load)
	return o
}

// watch looks for evidence that the peer has read what was posted so far, until
// that is found or ctx ends.
func (o *outlet) watch(ctx context.Context, l seen.Look) {
	target := o.given.Load()
	go func() {
		if o.pipe.Await(ctx, target) {
			l.Found(seen.Taken)
		}
	}()
}

// pass writes lines behind all that came before them, and returns when the peer
// has taken them.
func (o *outlet) pass(lines []byte) error {
	if len(lines) == 0 {
		return nil
	}
	o.given.Add(uint64(len(lines)))
	o.lane.Enter()
	o.write(lines)
	o.lane.Leave()
	if err := o.err.Load(); err != nil {
		return *err
	}
	return nil
}

// post takes a line of our own, without its line end. It does not wait for the
// peer.
func (o *outlet) post(line []byte) { o.postLines(append(line, '\n')) }

// postLines is post for lines that have their line ends.
func (o *outlet) postLines(lines []byte) {
	if o.err.Load() == nil {
		o.given.Add(uint64(len(lines)))
		o.lane.Post(lines...)
	}
}

// write is for whoever has the lane.
func (o *outlet) write(lines []byte) {
	if o.err.Load() != nil {
		return
	}
	if o.trace != nil {
		for line := range bytes.Lines(lines) {
			o.trace(bytes.TrimRight(line, "\r\n"))
		}
	}
	n, err := o.w.Write(lines)
	o.written.Add(uint64(n))
	if err == nil && n < len(lines) {
		err = io.ErrShortWrite
	}
	if err != nil {
		o.err.Store(&writeError{err})
	}
}

// settle waits until everything is written, or writing failed.
func (o *outlet) settle() {
	o.lane.Enter()
	o.lane.Leave()
}
