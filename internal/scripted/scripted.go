// Package scripted is a backend whose turns are a function. Scripts are played with it to
// the editor: they need no model and no network. The demo is one, the check of a client
// another. What such runs, and sources, have shown of editors is listed here, too.
package scripted

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"sync"
	"sync/atomic"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/conn"
	"github.com/acp-bridge/acp-bridge/internal/typed"
)

// Agent is what is played.
type Agent struct {
	// Word says what it is, in the ids of its sessions, too: "demo".
	Word string
	// Name is that of the command that plays it, Version its version.
	Name, Version string
	// Prompt is what the script makes of every prompt; empty is what was typed.
	Prompt string
	// Met gets what the editor says of itself; nil for nobody.
	Met func(acp.InitializeRequest)
	// New makes what plays the turns of a session, which works in a folder.
	New func(out *editor.Session, dir string) Turn

	sessions atomic.Int64
}

// Turn plays a turn, which ends with ctx at the latest.
type Turn func(ctx context.Context, prompt string) error

// serve plays until the client closes its end or ctx ends.
func (a *Agent) serve(ctx context.Context, r io.Reader, w io.Writer, o editor.Options) error {
	err := editor.Serve(ctx, r, w, a, &o)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Initialize implements [editor.Backend].
func (a *Agent) Initialize(_ context.Context, r acp.InitializeRequest, _ json.RawMessage) (any, error) {
	if a.Met != nil {
		a.Met(r)
	}
	return acp.InitializeResponse{
		ProtocolVersion: acp.ProtocolVersionNumber,
		AgentInfo:       &acp.Implementation{Name: "acp-bridge-" + a.Name, Title: acp.Ptr("acp-bridge " + a.Name), Version: a.Version},
		AuthMethods:     []acp.AuthMethod{},
	}, nil
}

// Open implements [editor.Backend].
func (a *Agent) Open(_ context.Context, o editor.Opening) (editor.Conversation, any, error) {
	if o.Method != acp.AgentMethodSessionNew {
		return nil, nil, acp.NewMethodNotFound(o.Method)
	}
	r, err := conn.Decode[struct{ Cwd string }](o.Params)
	if err != nil {
		return nil, nil, err
	}
	id := a.Word + "-" + strconv.FormatInt(a.sessions.Add(1), 10)
	out := o.Session(id)
	return &conversation{agent: a, out: out, turn: a.New(out, r.Cwd)}, acp.NewSessionResponse{SessionId: acp.SessionId(id)}, nil
}

// Request implements [editor.Backend].
func (a *Agent) Request(_ context.Context, method string, _ json.RawMessage) (any, error) {
	if method == acp.AgentMethodAuthenticate {
		return acp.AuthenticateResponse{}, nil
	}
	return nil, acp.NewMethodNotFound(method)
}

// OpensInOrder lets a person pipe requests in.
func (a *Agent) OpensInOrder() {}

// conversation plays one session.
type conversation struct {
	agent  *Agent
	out    *editor.Session
	turn   Turn
	turns  sync.WaitGroup
	stop   atomic.Pointer[context.CancelFunc] // of the last turn
	killed atomic.Bool
	typed  typed.Reader // of Read, which is called for one prompt at a time
}

func (c *conversation) Start(context.Context) error { c.killed.Store(false); return nil }

func (c *conversation) Read(r acp.PromptRequest) (any, error) {
	if text := cmp.Or(c.agent.Prompt, c.typed.Read(r.Prompt).String()); text != "" {
		return text, nil
	}
	return nil, nil
}

func (c *conversation) Interrupt(context.Context, bool) error {
	if stop := c.stop.Load(); stop != nil {
		(*stop)()
	}
	return nil
}

func (c *conversation) Kill() {
	c.killed.Store(true)
	_ = c.Interrupt(context.Background(), true)
}

func (c *conversation) Close(ctx context.Context) error {
	_ = c.Interrupt(ctx, true)
	c.turns.Wait()
	return nil
}

func (c *conversation) Request(ctx context.Context, method string, params json.RawMessage) (any, error) {
	return c.agent.Request(ctx, method, params)
}

// Prompt plays a turn.
func (c *conversation) Prompt(id string, content any) error {
	ctx, stop := context.WithCancel(c.out.Context())
	c.stop.Store(&stop)
	c.turns.Go(func() {
		defer stop()
		c.out.Began(false)
		err := c.turn(ctx, content.(string))
		if ctx.Err() != nil {
			err = nil // it was told to end
		}
		c.out.EndTurn(editor.TurnEnd{Prompts: []string{id}, Reason: acp.StopReasonEndTurn, Err: err}, func(bool) {})
		if c.killed.Load() {
			c.out.Exited(errors.New("it was stopped"), func(bool) {})
		}
	})
	return nil
}

// Ask asks and waits for the outcome.
func Ask(out *editor.Session, call convert.Call) convert.Outcome {
	outcome := make(chan convert.Outcome, 1)
	defer out.AskQuestion(call.ID, false, call, func(o convert.Outcome) bool { outcome <- o; return false })()
	return <-outcome
}
