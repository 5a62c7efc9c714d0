package conn

import (
	"bytes"
	"context"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
	"github.com/acp-bridge/acp-bridge/internal/seen"
)

// keepBuffer is the largest buffer kept for the next use; larger ones, grown by
// a burst or a long line, go back to the garbage collector.
const keepBuffer = 64 << 10

// forcedLimit is how far above the high-water mark lines that must not wait may
// fill the queue.
const forcedLimit = 16 << 20

// directLimit is how much is written without run: what a pipe takes at once.
const directLimit = 64 << 10

// writer is the queue of outgoing lines and the goroutine (run) that writes
// them, everything queued in one Write. Only run ever waits for the peer; what
// does not wait is written by whoever queues it, where w allows that.
type writer struct {
	w       io.Writer
	direct  func([]byte) int // writes what w takes without waiting; nil if w has no such way
	pipe    seen.Pipe
	high    int
	trace   ndjson.Trace
	dead    chan struct{} // closed when err is set
	wake    chan struct{} // holds a token while run has something to look at
	onError func(error)   // called by run, at most once

	mu      sync.Mutex
	queue   []byte        // lines that w has not got yet
	writing int           // bytes w holds right now
	queued  uint64        // bytes ever queued
	written uint64        // bytes ever taken by w
	changed chan struct{} // non-nil while someone waits for the level to fall
	err     error         // no line is taken any more
}

func newWriter(w io.Writer, opts *Options, onError func(error)) *writer {
	out := &writer{
		w:       w,
		direct:  ndjson.Direct(w),
		high:    opts.HighWater,
		trace:   opts.Trace,
		dead:    make(chan struct{}),
		wake:    make(chan struct{}, 1),
		onError: onError,
	}
	out.pipe = seen.NewPipe(w, out.taken)
	return out
}

// taken is how many bytes w has ever taken.
func (w *writer) taken() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.written
}

// send queues a line, waiting while the queue is above the high-water mark. It
// gives up when ctx or gone ends first; then nothing was queued. A line that is
// not urgent may stay in the queue until the next one comes.
func (w *writer) send(ctx context.Context, gone <-chan struct{}, text []byte, urgent bool) error {
	for {
		full, err := w.offer(text, urgent)
		if full == nil {
			return err
		}
		select {
		case <-full:
		case <-ctx.Done():
			return ctx.Err()
		case <-gone:
			return ErrClosed
		}
	}
}

// offer is send that does not wait: if the queue is above the high-water mark,
// nothing was queued, and full is closed when the level falls.
func (w *writer) offer(text []byte, urgent bool) (full <-chan struct{}, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.err != nil:
		return nil, w.err
	case len(w.queue)+w.writing > w.high:
		full = w.wait()
		w.poke()
		return full, nil
	}
	w.push(text)
	if urgent {
		w.kick()
	}
	return nil, nil
}

// force queues a line without waiting and reports whether there was room. The
// reader answers through it: a reader that waits for its peer to read deadlocks
// with a peer that does the same.
func (w *writer) force(text []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue)+w.writing > w.high+forcedLimit {
		return false
	}
	if w.err == nil {
		w.push(text)
		w.kick()
	}
	return true
}

func (w *writer) push(text []byte) {
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	if w.trace != nil {
		w.trace(ndjson.Out, text)
	}
	w.queue = append(append(w.queue, text...), '\n')
	w.queued += uint64(len(text)) + 1
}

// kick gets written what is queued. Called locked.
func (w *writer) kick() {
	if w.direct == nil || w.writing > 0 || len(w.queue) > directLimit {
		w.poke()
		return
	}
	n := w.direct(w.queue)
	w.written += uint64(n)
	w.queue = w.queue[:copy(w.queue, w.queue[n:])]
	if len(w.queue) > 0 {
		w.poke()
		return
	}
	if cap(w.queue) > keepBuffer {
		w.queue = nil
	}
	w.notifyWaiters()
}

// flush gets written what was not urgent. It does not wait.
func (w *writer) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil && len(w.queue) > 0 {
		w.kick()
	}
}

func (w *writer) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// wait returns a channel that is closed at the next change. Called locked.
func (w *writer) wait() <-chan struct{} {
	if w.changed == nil {
		w.changed = make(chan struct{})
	}
	return w.changed
}

func (w *writer) notifyWaiters() {
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

// drain returns when all that was queued before has been taken by w.
func (w *writer) drain(ctx context.Context) error {
	w.poke()
	w.mu.Lock()
	target := w.queued
	for w.written < target {
		if w.err != nil {
			break
		}
		changed := w.wait()
		w.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return cancelledError(ctx, "write")
		}
		w.mu.Lock()
	}
	defer w.mu.Unlock()
	if w.written < target {
		return w.err
	}
	return nil
}

// stop makes run return once its Write does. Lines still queued are dropped.
func (w *writer) stop(err error) {
	w.mu.Lock()
	w.fail(err)
	w.mu.Unlock()
	w.poke()
}

func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
		w.queue = nil
		close(w.dead)
		w.notifyWaiters()
	}
}

func (w *writer) run() {
	var spare []byte
	for range w.wake {
		for {
			w.mu.Lock()
			if w.err != nil {
				w.mu.Unlock()
				return
			}
			batch := w.queue
			if len(batch) == 0 {
				w.mu.Unlock()
				break
			}
			w.queue, w.writing = spare[:0], len(batch)
			w.mu.Unlock()

			n, err := w.w.Write(batch)
			if err == nil && n < len(batch) {
				err = io.ErrShortWrite
			}
			if spare = batch; cap(spare) > keepBuffer {
				spare = nil
			}

			w.mu.Lock()
			w.writing = 0
			if err == nil {
				w.written += uint64(n)
				w.notifyWaiters()
				w.mu.Unlock()
				continue
			}
			failed := w.err == nil
			w.fail(closedError(err))
			w.mu.Unlock()
			if failed {
				w.onError(err)
			}
			return
		}
	}
}
