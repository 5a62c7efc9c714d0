// Package proxy lets any ACP agent ask its user in any ACP editor. It stands
// between the two: an agent to the editor, a client to the agent.
//
//	err := proxy.Serve(ctx, os.Stdin, os.Stdout, proxy.Options{Args: []string{"grok", "agent", "stdio"}})
//
// All that the two say to each other passes as it is written, in its order:
// methods that nobody here knows, ids of any kind, _meta. Only questions are
// taken out of the way. They go through package
// [github.com/acp-bridge/acp-bridge/adapter], which asks them in the best way
// that the editor has, and the answer goes back in the agent's own shape.
//
// # How a line passes
//
// A goroutine for each direction reads what is there, looks at each line just
// long enough to know whether it is of interest, and writes the lines between
// two that are in one piece, from the buffer into which they were read. A peer
// that does not read stops the other one, as if there were a pipe between them.
// Lines of the proxy's own go between others and wait for nobody.
//
// # Permissions
//
// A request for permission passes like any line, and so does the editor's reply.
// With a desk ([Options]) it is there as well, with all that the agent has shown of the
// tool call and with its own options: whoever is first, there or in the editor, has
// answered, and the other is told. What cannot be shown whole is not there.
//
// # Agents that were run
//
// Each was installed from npm and run with a stand-in for its model, on 15 November
// 2026, in an editor with forms and in one without:
//
//	.ci/agents/install .cache/agents longer
//	ACP_BRIDGE_REAL_AGENTS=$PWD/.cache/agents ACP_BRIDGE_REAL_AGENTS_LONGER=1 go -C cmd/tools test ./real/proxy
//
// The first six run in every build. With all of them, session/cancel and the death
// of the agent end an open question.
//
//	agent                   version   asks by                     several  own words  dismissed
//	Grok Build              1.0.41    _x.ai/ask_user_question     yes      yes        the model is told
//	Kimi Code               2.1.0     a form                      yes      takes none the model is told
//	Qwen Code               0.24.4    a permission of its own     yes      yes        its turn ends
//	Codex (codex-acp)       2.6.0     a form                      has none yes        the model is told
//	goose                   1.52.0    our tool                    yes      yes        the model is told
//	OpenCode                1.18.33   its HTTP API                yes      yes        its turn ends
//	Gemini CLI              0.61.0    our tool                    yes      yes        the model is told
//	Copilot CLI             1.0.102   our tool                    yes      yes        the model is told
//	Claude (claude-agent-acp) 0.99.1  a form                      yes      yes        the model is told
//	nanocoder               1.30.0    a permission request        –        takes none the model is told
//	Kilo                    7.7.7     its HTTP API                yes      yes        its turn ends
//	Droid                   0.215.0   our tool                    yes      yes        the model is told
//
// Since June 2026 Google serves Gemini CLI to companies and API keys only. Its
// successor Antigravity was not run. Google's own ACP agent for it, antigravity-acp, is
// known by its wire as clients of it document it: its questions are permission requests
// whose options all allow once. They are asked as questions, and guarded as all are
// against editors that approve by themselves.
//
// OpenCode 2 has the first version's command, but not its API. Built from its sources of
// 19 August 2026 it asks for permissions as any agent does, and dismisses its own
// questions before anybody can see them; later releases ask with forms, as they are
// documented. So [Serve] has it load a question tool in place of its own, from a folder
// that is gone afterwards; where it does not, the user is told of a question that was
// dismissed. In a terminal it refuses our plugin, and is watched by its service.
//
// All but nanocoder asked two questions in one call. Where an agent accepts no own
// words, Other is not offered. An agent's HTTP API can be reached only if the proxy
// started the agent: not with [Chain] and [Relay].
package proxy

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter"
	front "github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/conn"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
	"github.com/acp-bridge/acp-bridge/internal/proc"
	"github.com/acp-bridge/acp-bridge/internal/seen"
	machine "github.com/acp-bridge/acp-bridge/internal/session"
)

// Stream is one end of a connection: what comes from it, and what goes to it.
type Stream struct {
	In  io.Reader
	Out io.Writer
}

// proxy is one editor with one agent.
type proxy struct {
	opts   Options
	log    *slog.Logger
	ctx    context.Context
	editor *outlet
	from   *seen.Inlet // what the editor says
	agent  *outlet
	calls  calls // to the editor
	tools  tools
	side   *side // nil for an agent that asks over ACP

	// All that follows, what belongs to the sessions, tools and calls is touched in
	// a step alone: a line is looked at in one, and whatever happens to a session is
	// one. Functions here that make no step are part of one, but for those that say
	// otherwise.
	proc.Shared
	about  aboutAgent
	client acp.InitializeRequest
	known  front.Client
	asker  *adapter.Adapter
	forms  bool // the editor shows forms
	urls   bool // the editor opens addresses
	// takesNotes says that the agent reads what is written beside an answer.
	takesNotes bool
	// titlesOnly says that the editor shows no more of a permission than its title.
	titlesOnly bool
	sessions   map[string]*session
	awaited    map[string]*request // requests of the editor that the agent has
	open       map[string]*asking  // requests of the agent that are answered here
	passed     passed
	permit     map[string]*permit // those of passed that are at the desk
	permitting map[string]*permissionAsked
	late       passed // those that the editor may still answer, and somebody has
	profile    Profile
	overHTTP   bool // the agent says that it takes MCP servers over HTTP
	over       bool // all that was open has been answered

	holds   atomic.Int32         // how many sessions are held
	passing *conn.Lane[struct{}] // whoever has it passes lines of the agent on
	asking  sync.WaitGroup       // one for each open question
}

// request is a request of the editor.
type request struct {
	method  string
	session string
	tool    string  // the token of the tool that was added to it
	ends    []*tool // those that end with one that closes a session
	dir     string  // of one that opens a session
	// opened is closed when the agent has answered one that opens a session.
	opened chan struct{}
}

// Relay stands between an editor and an agent until one of them ends its
// stream, or ctx ends. It returns nil when the editor has; what then becomes of
// the agent is the caller's business. Requests of the editor that the agent did
// not answer get an error.
//
// Relay reads from both ends until they end: goroutines that sit in Read return
// when that does.
func Relay(ctx context.Context, editor, agent Stream, o Options) error {
	return relay(ctx, editor, agent, o, launched{profile: o.Agent})
}

// launched is what is known of an agent from how it was started.
type launched struct {
	profile Profile
	side    *side
	plugin  string // the folder of the plugin that asks, if it has one
	// explain says more about the end of an agent.
	explain func(error) error
}

func relay(ctx context.Context, editor, agent Stream, o Options, started launched) error {
	// What ends because this ends has no answer: nobody cancelled it.
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(errStopped)
	defer context.AfterFunc(ctx, func() { cancel(errStopped) })()
	p := newProxy(inner, editor.Out, agent.Out, o)
	p.side, p.profile, p.from = started.side, started.profile, seen.NewInlet(editor.In)
	if started.plugin != "" {
		p.Step(func() { p.plugged(started.plugin) })
	}
	ended := make(chan error, 2)
	go func() {
		err := gone(errEditorGone, errAgentGone, p.run(p.from, p.agent, p.fromEditor))
		if errors.Is(err, errAgentGone) { // what it has said before is read first
			proc.Within(inner.Done(), lastWords)
		}
		ended <- err
	}()
	go func() { ended <- gone(errAgentGone, errEditorGone, p.run(agent.In, p.editor, p.fromAgent)) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if errors.Is(err, errAgentGone) && started.explain != nil {
		err = started.explain(err)
	}
	p.end(err)
	if errors.Is(err, errEditorGone) {
		return nil
	}
	return err
}

func newProxy(ctx context.Context, editor, agent io.Writer, o Options) *proxy {
	o.Trace = ndjson.Tapped(o.Trace)
	p := &proxy{
		opts: o, log: o.Logger, ctx: ctx,
		editor: newOutlet(editor, o.traceOut(editorWire)), agent: newOutlet(agent, o.traceOut(agentWire)),
		sessions: map[string]*session{}, awaited: map[string]*request{},
		open: map[string]*asking{}, passed: passed{}, permit: map[string]*permit{}, permitting: map[string]*permissionAsked{}, late: passed{}, passing: conn.NewLane[struct{}](nil),
	}
	p.log = cmp.Or(p.log, slog.New(slog.DiscardHandler))
	p.tools.p = p
	p.calls.init(p.editor, p)
	return p
}

var (
	errStopped    = fmt.Errorf("acp-bridge was stopped: %w", convert.ErrDisconnected)
	errEditorGone = errors.New("the editor is gone")
	errAgentGone  = errors.New("the agent is gone")
)

// end answers what is open on both sides, as far as there is somebody to hear
// it.
func (p *proxy) end(why error) {
	var end func()
	p.Step(func() {
		if errors.Is(why, errEditorGone) {
			p.calls.close(why)
		}
		for _, s := range p.sessions {
			if errors.Is(why, errAgentGone) && s.state.Working() {
				p.rests(s, machine.Ending{Err: errAgentGone})
			}
			p.apply(s, machine.CloseCame{How: machine.Ending{Err: errors.New(adapter.Words(why))}, Why: cause(why)}, nil)
		}
		p.noPermits(adapter.Words(why), func(*permit) bool { return true })
		for id := range p.awaited {
			p.editor.post(errorLine(id, ndjson.Internal, adapter.Words(why)))
		}
		clear(p.awaited)
		p.over = true
		end = p.tools.close()
	})
	end()
	done := make(chan struct{})
	go func() {
		p.asking.Wait()
		var both sync.WaitGroup
		both.Go(p.editor.settle)
		both.Go(p.agent.settle) // it may be the user's last answer
		both.Wait()
		close(done)
	}()
	proc.Within(done, lastWords)
}

// lastWords is how long a peer may take to read what it is told at the end.
const lastWords = 2 * time.Second

// cause is why open questions end with the connection: without an editor there
// is nobody to answer them, without an agent nobody to hear it.
func cause(why error) error {
	if errors.Is(why, errAgentGone) {
		return why
	}
	return convert.ErrDisconnected
}

// gone says which end is gone, that which is read or that which is written to,
// and why if that is not plain.
func gone(read, written, err error) error {
	var w writeError
	switch {
	case errors.Is(err, io.EOF):
		return read
	case errors.As(err, &w):
		return fmt.Errorf("%w: %w", written, w.error)
	}
	return fmt.Errorf("%w: %w", read, err)
}

// writeError is one of the peer that lines are passed on to.
type writeError struct{ error }

// unique begins the ids of requests that this process makes. Behind another
// proxy there is more than one.
func unique() string { return "acp-bridge-" + rand.Text() + "-" }
