package demo

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"sync"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/convert"
)

// Options say how to play. The zero value is good.
type Options struct {
	// Version is what initialize reports.
	Version string
	// Desk gets everything that is asked; nil is one of its own.
	Desk *desk.Desk
}

// Serve plays the agent until the client closes its end or ctx ends.
func Serve(ctx context.Context, r io.Reader, w io.Writer, o Options) error {
	err := editor.Serve(ctx, r, w, &backend{version: o.Version}, &editor.Options{Desk: o.Desk})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// backend is the script behind the front.
type backend struct {
	version string

	mu              sync.Mutex
	sessions, calls int
}

func (b *backend) Initialize(context.Context, acp.InitializeRequest, json.RawMessage) (any, error) {
	return acp.InitializeResponse{
		ProtocolVersion: acp.ProtocolVersionNumber,
		AgentInfo:       &acp.Implementation{Name: "acp-bridge-demo", Title: acp.Ptr("acp-bridge demo"), Version: b.version},
		AuthMethods:     []acp.AuthMethod{},
	}, nil
}

func (b *backend) Open(_ context.Context, o editor.Opening) (editor.Conversation, any, error) {
	if o.Method != acp.AgentMethodSessionNew {
		return nil, nil, acp.NewMethodNotFound(o.Method)
	}
	b.mu.Lock()
	b.sessions++
	id := "demo-" + strconv.Itoa(b.sessions)
	b.mu.Unlock()
	return &conversation{backend: b, out: o.Session(id)}, acp.NewSessionResponse{SessionId: acp.SessionId(id)}, nil
}

func (b *backend) Request(_ context.Context, method string, _ json.RawMessage) (any, error) {
	if method == acp.AgentMethodAuthenticate {
		return acp.AuthenticateResponse{}, nil
	}
	return nil, acp.NewMethodNotFound(method)
}

// OpensInOrder lets a person pipe requests into the demo.
func (b *backend) OpensInOrder() {}

// callID names the next question call.
func (b *backend) callID() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	return "demo_call_" + strconv.Itoa(b.calls)
}

// conversation plays one session. It is done with a turn as soon as its question
// is over, so there is nothing to interrupt.
type conversation struct {
	backend *backend
	out     *editor.Session
	turns   sync.WaitGroup

	mu     sync.Mutex
	killed bool
}

func (c *conversation) Start(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.killed = false
	return nil
}

func (c *conversation) Read(acp.PromptRequest) (any, error)   { return Prompt, nil }
func (c *conversation) Interrupt(context.Context, bool) error { return nil }
func (c *conversation) Close(context.Context) error           { c.turns.Wait(); return nil }
func (c *conversation) Request(ctx context.Context, method string, params json.RawMessage) (any, error) {
	return c.backend.Request(ctx, method, params)
}

// Kill is called when the client has not read the end of a turn for a while.
func (c *conversation) Kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.killed = true
}

// Prompt plays a turn.
func (c *conversation) Prompt(id string, _ any) error {
	c.turns.Go(func() {
		c.out.Began(false)
		c.play(c.backend.callID())
		c.out.EndTurn(editor.TurnEnd{Prompts: []string{id}, Reason: acp.StopReasonEndTurn}, func(bool) {})
		c.mu.Lock()
		killed := c.killed
		c.mu.Unlock()
		if killed {
			c.out.Exited(errors.New("the demo was stopped"), func(bool) {})
		}
	})
	return nil
}

// ask asks the script's questions.
func (c *conversation) ask(call convert.Call) convert.Outcome {
	outcome := make(chan convert.Outcome, 1)
	c.out.AskQuestion(call.ID, false, call, func(o convert.Outcome) { outcome <- o })
	return <-outcome
}

func (c *conversation) say(text string) { c.out.Text(editor.MessageChunk, text) }
