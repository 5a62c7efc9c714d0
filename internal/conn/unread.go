package conn

import (
	"context"

	"github.com/acp-bridge/acp-bridge/internal/seen"
)

// FeedsShowings makes it a [seen.Witness].
func (c *Conn) FeedsShowings() {}

// Peer is what is known of the peer as one that is asked behind showings.
func (c *Conn) Peer() *seen.Peer { return &c.peer }

// Watch looks for evidence that the peer has read what was sent so far, until
// that is found or ctx ends.
func (c *Conn) Watch(ctx context.Context, l seen.Look) {
	c.out.mu.Lock()
	target := c.out.queued
	c.out.mu.Unlock()
	l.From(c.from)
	go c.await(ctx, l, target)
}

func (c *Conn) await(ctx context.Context, l seen.Look, target uint64) {
	if c.out.drain(ctx) == nil && c.out.pipe.Await(ctx, target) {
		l.Found(seen.Taken)
	}
}

// AskBehind sends the peer what it answers when it has come to all that was sent
// before. It does not wait.
func (c *Conn) AskBehind(l seen.Look) {
	c.peer.Ask(l, func(heard func(refused bool)) {
		id, ok := c.register(&call{ctx: c.ctx, method: seen.Method, heard: heard})
		if ok && !c.out.force(appendRequest(nil, id, seen.Method, seen.Params)) {
			c.take(id)
		}
	})
}

// follow looks for all the evidence that there is for what was just queued, until
// the function that it returns is called.
func (c *Conn) follow(ctx context.Context, l seen.Look) (stop func()) {
	c.out.mu.Lock()
	target := c.out.queued
	c.out.mu.Unlock()
	l.From(c.from)
	c.AskBehind(l)
	c.out.flush()
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.await(ctx, l, target)
	}()
	return func() {
		cancel()
		<-done
	}
}
