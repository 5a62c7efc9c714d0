// Package pipeagent is an ACP agent that an editor starts, for programs that ask
// through a pipe: their questions are asked in the editor, in every way that
// package adapter knows.
//
//	err := pipeagent.Serve(ctx, os.Stdin, os.Stdout, pipeagent.Options{Command: []string{"my-agent", "--rpc"}})
//
// A program writes requests to its standard output, as package pipe reads them,
// and gets the responses on its standard input. Agents that run elsewhere connect
// to a socket.
package pipeagent

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
	"github.com/acp-bridge/acp-bridge/internal/proc"
	"github.com/acp-bridge/acp-bridge/internal/scripted"
)

// Options say who asks. Command or Listener is needed, the rest is not.
type Options struct {
	// Command is run for each prompt, in the folder of its session, with the
	// prompt's text as its last argument. It works until it ends. Lines that it
	// writes beside its requests are its words in the conversation.
	Command []string
	// Listener takes agents that run elsewhere. What they ask is asked in the
	// session that was opened last; while there is none, it waits. Serve closes
	// it.
	Listener net.Listener
	// Dialect is "pi" or "opal" to take requests of that kind only.
	Dialect string
	// First is the rung on which questions are asked first; the zero value goes
	// by what the editor has.
	First adapter.Rung
	// Guard distrusts answers that come faster than a person can read.
	Guard bool
	// Desk gets everything that is asked; nil is one of its own.
	Desk *desk.Desk
	// Version is what initialize reports.
	Version string
	// Stderr gets what commands write there; nil discards it.
	Stderr io.Writer
	// Logger gets what goes wrong; nil discards it.
	Logger *slog.Logger
	// Trace sees every line from and to the editor.
	Trace ndjson.Trace
}

// Serve speaks ACP until the editor closes its end or ctx ends, then ends all
// commands and connections. It returns nil when the editor left.
func Serve(ctx context.Context, r io.Reader, w io.Writer, o Options) error {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Stderr = cmp.Or(o.Stderr, io.Discard)
	b := &backend{opts: o, log: o.Logger, opened: make(chan struct{})}
	agent := &scripted.Agent{Word: "pipe", Name: "rpc", Version: o.Version, New: b.open}
	inner, leave := context.WithCancelCause(ctx)
	var guests sync.WaitGroup
	if o.Listener != nil {
		guests.Go(func() { b.listen(inner) })
	}
	err := editor.Serve(ctx, r, w, agent, &editor.Options{
		First: o.First, Guard: o.Guard, Desk: o.Desk, Logger: o.Logger, Trace: o.Trace,
	})
	// What was open has its outcome by now: whoever asked is told before the
	// connection goes.
	leave(convert.ErrDisconnected)
	guests.Wait()
	return err
}

// backend is the programs behind the front.
type backend struct {
	opts Options
	log  *slog.Logger

	serial atomic.Int64

	proc.Shared                   // has what follows
	sessions    []*editor.Session // the last opened is the last one
	opened      chan struct{}     // closed, and made anew, when one is opened
}

// open begins a session.
func (b *backend) open(out *editor.Session, dir string) scripted.Turn {
	b.Step(func() {
		b.sessions = append(b.sessions, out)
		close(b.opened)
		b.opened = make(chan struct{})
	})
	return (&conversation{backend: b, out: out, dir: dir}).play
}

// newest waits for a session and returns the one that was opened last.
func (b *backend) newest(ctx context.Context) (*editor.Session, error) {
	for {
		var opened chan struct{}
		var newest *editor.Session
		b.Step(func() {
			opened = b.opened
			b.sessions = slices.DeleteFunc(b.sessions, func(s *editor.Session) bool { return s.Context().Err() != nil })
			if n := len(b.sessions); n > 0 {
				newest = b.sessions[n-1]
			}
		})
		if newest != nil {
			return newest, nil
		}
		select {
		case <-opened:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
