package pipeagent

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/adapter/pipe"
	"github.com/acp-bridge/acp-bridge/convert"
)

// asker asks in a session.
type asker struct {
	backend *backend
	// session is nil for the one that was opened last.
	session *editor.Session
}

var _ adapter.Poster = asker{}

// Ask implements [adapter.Resolver].
func (a asker) Ask(ctx context.Context, c convert.Call) (convert.Outcome, error) {
	return a.Post(ctx, c).Wait()
}

// Post implements [adapter.Poster]. It waits for a session to ask in.
func (a asker) Post(ctx context.Context, c convert.Call) adapter.Asking {
	s, apart := a.session, a.session == nil
	if s == nil {
		var err error
		if s, err = a.backend.newest(ctx); err != nil {
			return waiting{func() {}, func() (convert.Outcome, error) { return ended(ctx) }}
		}
	}
	c.ID = "ask_" + strconv.FormatInt(a.backend.serial.Add(1), 10) // requests may repeat theirs
	settled := make(chan convert.Outcome, 1)
	used := s.AskQuestion(c.ID, apart, c, func(o convert.Outcome) bool { settled <- o; return false })
	return waiting{used, func() (convert.Outcome, error) {
		select {
		case o := <-settled:
			return o, o.Err()
		case <-ctx.Done():
		}
		s.Withdraw(c.ID)
		select {
		case o := <-settled: // before that
			return o, o.Err()
		default:
			return ended(ctx)
		}
	}}
}

// waiting is how a question is waited for whose outcome is nobody else's.
type waiting struct {
	used func()
	wait func() (convert.Outcome, error)
}

// Wait implements [adapter.Asking].
func (w waiting) Wait() (convert.Outcome, error) { return w.wait() }

// Deliver implements [adapter.Asking].
func (w waiting) Deliver(use func() error) error {
	err := use()
	if err == nil {
		w.used()
	}
	return err
}

func ended(ctx context.Context) (convert.Outcome, error) {
	o := adapter.Withdrawn(ctx)
	return o, o.Err()
}

// server answers what one program asks.
func (b *backend) server(session *editor.Session) *pipe.Server {
	return &pipe.Server{
		Resolver: asker{b, session}, Dialect: b.opts.Dialect,
		Report: func(problem string) { b.log.Warn("a line cannot be answered", "problem", problem) },
	}
}

// listen takes agents until ctx ends.
func (b *backend) listen(ctx context.Context) {
	var guests sync.WaitGroup
	defer guests.Wait()
	defer context.AfterFunc(ctx, func() { _ = b.opts.Listener.Close() })()
	for {
		conn, err := b.opts.Listener.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				b.log.Error("no more agents can connect", "err", err)
			}
			return
		}
		guests.Go(func() { b.serve(ctx, conn) })
	}
}

// serve answers one agent that connected.
func (b *backend) serve(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	// Its last responses are written before the connection is closed.
	if err := b.server(nil).Serve(ctx, conn, conn); err != nil && ctx.Err() == nil {
		b.log.Warn("an agent's connection broke", "err", err)
	}
}
