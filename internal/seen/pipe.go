package seen

import (
	"context"
	"io"
	"time"
)

// poll is how often a pipe is asked what is unread, while somebody wants to know.
const poll = 10 * time.Millisecond

// Pipe is what a writer knows of the bytes that it passes on.
type Pipe struct {
	// Written is how many bytes the pipe has ever taken.
	Written func() uint64
	unread  func() int // nil if that cannot be known
}

// NewPipe follows what w takes, as written counts it.
func NewPipe(w io.Writer, written func() uint64) Pipe {
	return Pipe{written, unreadIn(w)}
}

// Await returns when the peer has taken the first target bytes out of the pipe,
// or, where that cannot be known, when they were written. It returns false if ctx
// ends first.
func (p Pipe) Await(ctx context.Context, target uint64) bool {
	for {
		written, unread := p.Written(), 0
		if p.unread != nil {
			unread = p.unread()
		}
		if written-min(uint64(unread), written) >= target {
			return ctx.Err() == nil
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(poll):
		}
	}
}
