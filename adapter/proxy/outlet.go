package proxy

import (
	"bytes"
	"context"
	"io"
	"sync"

	"github.com/acp-bridge/acp-bridge/internal/seen"
)

// outlet is where lines go to a peer. One goroutine passes on what the other
// peer sent and waits for this one to take it; lines of our own go between and
// wait for nobody.
type outlet struct {
	w     io.Writer
	trace func(line []byte) // nil, or for each line

	mu    sync.Mutex
	free  sync.Cond // the writer is done
	busy  bool      // some goroutine writes
	queue []byte    // our own lines, for whoever writes
	err   error     // no line is taken any more
	// written is how many bytes the peer's pipe has ever taken, writing how many it
	// is given.
	written uint64
	writing int
	pipe    seen.Pipe
}

func newOutlet(w io.Writer, trace func(line []byte)) *outlet {
	o := &outlet{w: w, trace: trace}
	o.free.L = &o.mu
	o.pipe = seen.NewPipe(w, o.taken)
	return o
}

func (o *outlet) taken() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.written
}

// watch looks for evidence that the peer has read what was posted so far, until
// that is found or ctx ends.
func (o *outlet) watch(ctx context.Context, l seen.Look) {
	o.mu.Lock()
	target := o.written + uint64(o.writing+len(o.queue))
	o.mu.Unlock()
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
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.busy {
		o.free.Wait()
	}
	if o.err == nil {
		o.write(lines) // nothing is queued while nobody writes
	}
	o.drain()
	return o.err
}

// post takes a line of our own, without its line end. It does not wait for the
// peer.
func (o *outlet) post(line []byte) { o.postLines(append(line, '\n')) }

// postLines is post for lines that have their line ends.
func (o *outlet) postLines(lines []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil || len(lines) == 0 {
		return
	}
	o.queue = append(o.queue, lines...)
	if !o.busy {
		o.busy = true
		go func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.drain()
		}()
	}
}

// drain writes the queue until it is empty. mu is held.
func (o *outlet) drain() {
	for o.err == nil && len(o.queue) > 0 {
		batch := o.queue
		o.queue = nil
		o.write(batch)
	}
	o.busy = false
	o.free.Broadcast()
}

// write lets go of mu while the peer takes b. mu is held.
func (o *outlet) write(b []byte) {
	o.busy, o.writing = true, len(b)
	o.mu.Unlock()
	if o.trace != nil {
		for line := range bytes.Lines(b) {
			o.trace(bytes.TrimRight(line, "\r\n"))
		}
	}
	n, err := o.w.Write(b)
	o.mu.Lock()
	o.written, o.writing = o.written+uint64(n), 0
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if err != nil {
		o.err, o.queue = writeError{err}, nil
	}
}

// settle waits until everything is written, or writing failed.
func (o *outlet) settle() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.busy {
		o.free.Wait()
	}
}
