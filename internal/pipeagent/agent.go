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
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"strconv"
	"sync"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
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
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
	b := &backend{opts: o, log: o.Logger, opened: make(chan struct{})}
	inner, leave := context.WithCancelCause(ctx)
	var guests sync.WaitGroup
	if o.Listener != nil {
		guests.Go(func() { b.listen(inner) })
	}
	err := editor.Serve(ctx, r, w, b, &editor.Options{
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

	mu       sync.Mutex
	serial   int
	sessions []*editor.Session // the last opened is the last one
	opened   chan struct{}     // closed, and made anew, when one is opened
}

// Initialize implements [editor.Backend].
func (b *backend) Initialize(context.Context, acp.InitializeRequest, json.RawMessage) (any, error) {
	return acp.InitializeResponse{
		ProtocolVersion: acp.ProtocolVersionNumber,
		AgentInfo:       &acp.Implementation{Name: "acp-bridge-rpc", Title: acp.Ptr("acp-bridge rpc"), Version: b.opts.Version},
		AuthMethods:     []acp.AuthMethod{},
	}, nil
}

// Open implements [editor.Backend].
func (b *backend) Open(_ context.Context, o editor.Opening) (editor.Conversation, any, error) {
	if o.Method != acp.AgentMethodSessionNew {
		return nil, nil, acp.NewMethodNotFound(o.Method)
	}
	r, err := editor.Decode[acp.NewSessionRequest](o.Params)
	if err != nil {
		return nil, nil, err
	}
	id := b.name("pipe")
	out := o.Session(id)
	b.mu.Lock()
	b.sessions = append(b.sessions, out)
	close(b.opened)
	b.opened = make(chan struct{})
	b.mu.Unlock()
	return &conversation{backend: b, out: out, dir: r.Cwd}, acp.NewSessionResponse{SessionId: acp.SessionId(id)}, nil
}

// OpensInOrder lets a person pipe requests in.
func (b *backend) OpensInOrder() {}

// Request implements [editor.Backend].
func (b *backend) Request(_ context.Context, method string, _ json.RawMessage) (any, error) {
	if method == acp.AgentMethodAuthenticate {
		return acp.AuthenticateResponse{}, nil
	}
	return nil, acp.NewMethodNotFound(method)
}

// name makes an id that was not used before: requests may repeat theirs.
func (b *backend) name(word string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.serial++
	return word + "_" + strconv.Itoa(b.serial)
}

// newest waits for a session and returns the one that was opened last.
func (b *backend) newest(ctx context.Context) (*editor.Session, error) {
	for {
		b.mu.Lock()
		opened := b.opened
		for n := len(b.sessions); n > 0; n = len(b.sessions) {
			s := b.sessions[n-1]
			if s.Context().Err() == nil {
				b.mu.Unlock()
				return s, nil
			}
			b.sessions = b.sessions[:n-1]
		}
		b.mu.Unlock()
		select {
		case <-opened:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
