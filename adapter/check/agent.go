package check

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"sync"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/adapter/editor"
)

// Options say how to check. The zero value is good.
type Options struct {
	// Version is what initialize reports.
	Version string
	// Now is the clock by which answers are too fast; nil is [time.Now].
	Now func() time.Time
}

// Serve checks the client until it closes its end or ctx ends.
func Serve(ctx context.Context, r io.Reader, w io.Writer, o Options) error {
	if o.Now == nil {
		o.Now = time.Now
	}
	b := &backend{opts: o, wire: newWire(o.Now)}
	open := new(desk.Desk)
	defer open.Watch(b.wire.asked)()
	err := editor.Serve(ctx, r, w, b, &editor.Options{Desk: open, Trace: b.wire.line})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// backend is the check behind the front.
type backend struct {
	opts Options
	wire *wire

	mu       sync.Mutex
	sessions int
}

func (b *backend) Initialize(_ context.Context, r acp.InitializeRequest, _ json.RawMessage) (any, error) {
	b.wire.met(r)
	return acp.InitializeResponse{
		ProtocolVersion: acp.ProtocolVersionNumber,
		AgentInfo:       &acp.Implementation{Name: "acp-bridge-check-client", Title: acp.Ptr("acp-bridge check-client"), Version: b.opts.Version},
		AuthMethods:     []acp.AuthMethod{},
	}, nil
}

func (b *backend) Open(_ context.Context, o editor.Opening) (editor.Conversation, any, error) {
	if o.Method != acp.AgentMethodSessionNew {
		return nil, nil, acp.NewMethodNotFound(o.Method)
	}
	b.mu.Lock()
	b.sessions++
	id := "check-" + strconv.Itoa(b.sessions)
	b.mu.Unlock()
	return &conversation{backend: b, out: o.Session(id)}, acp.NewSessionResponse{SessionId: acp.SessionId(id)}, nil
}

func (b *backend) Request(_ context.Context, method string, _ json.RawMessage) (any, error) {
	if method == acp.AgentMethodAuthenticate {
		return acp.AuthenticateResponse{}, nil
	}
	return nil, acp.NewMethodNotFound(method)
}

// OpensInOrder lets a person pipe requests into the check.
func (b *backend) OpensInOrder() {}

// conversation is one run of the check. It goes on with the next step at each
// prompt: a step that was dismissed ends a turn.
type conversation struct {
	backend *backend
	out     *editor.Session
	turns   sync.WaitGroup

	// Of the turn that runs.
	next    int
	results []result

	mu     sync.Mutex
	killed bool
}

func (c *conversation) Start(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.killed = false
	return nil
}

func (c *conversation) Read(acp.PromptRequest) (any, error)   { return "go on", nil }
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

// Prompt goes on with the check.
func (c *conversation) Prompt(id string, _ any) error {
	c.turns.Go(func() {
		c.out.Began(false)
		c.play()
		c.out.EndTurn(editor.TurnEnd{Prompts: []string{id}, Reason: acp.StopReasonEndTurn}, func(bool) {})
		c.mu.Lock()
		killed := c.killed
		c.mu.Unlock()
		if killed {
			c.out.Exited(errors.New("the check was stopped"), func(bool) {})
		}
	})
	return nil
}

func (c *conversation) say(text string) { c.out.Text(editor.MessageChunk, text) }
