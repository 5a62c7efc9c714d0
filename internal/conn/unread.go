package conn

import (
	"context"
	"sync"
	"time"
)

// unreadPoll is how often a pipe is asked what is unread, while somebody wants to
// know when a request can have been read.
const unreadPoll = 10 * time.Millisecond

// TimeReads returns a context for one Call, and a function that says how long ago
// the peer can have read that request: on a pipe since the peer took it out, else
// since it was written. It is 0 while the peer cannot have read it.
func (c *Conn) TimeReads(ctx context.Context) (context.Context, func() time.Duration) {
	r := &readTime{}
	return context.WithValue(ctx, readKey{}, r), r.ago
}

type readKey struct{}

// readTime is when a request can have been read.
type readTime struct {
	mu sync.Mutex
	at time.Time
}

func (r *readTime) ago() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at.IsZero() {
		return 0
	}
	return time.Since(r.at)
}

func (r *readTime) now() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at.IsZero() {
		r.at = time.Now()
	}
}

// timeRead notes when what was queued up to now can have been read, until the
// function that it returns is called.
func (c *Conn) timeRead(ctx context.Context) (stop func()) {
	r, ok := ctx.Value(readKey{}).(*readTime)
	if !ok {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if c.out.awaitRead(ctx) {
			r.now()
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// awaitRead returns when all that was queued before can have been read, and false
// if ctx ends or writing fails first.
func (w *writer) awaitRead(ctx context.Context) bool {
	w.mu.Lock()
	target := w.queued
	w.mu.Unlock()
	if w.drain(ctx) != nil {
		return false
	}
	for {
		w.mu.Lock()
		unread := 0
		if w.unread != nil {
			unread = w.unread()
		}
		read := w.written - min(uint64(unread), w.written)
		w.mu.Unlock()
		if read >= target {
			return ctx.Err() == nil
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(unreadPoll):
		}
	}
}
