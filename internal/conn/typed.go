package conn

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/coder/acp-go-sdk"
)

// CallFor is Call with the result decoded into T, as encoding/json does it: a
// null result is the zero T. A result that does not decode wraps ErrProtocol.
// It blocks as Call does.
func CallFor[T any](ctx context.Context, c *Conn, method string, params any) (T, error) {
	var result T
	raw, err := c.Call(ctx, method, params)
	if err != nil {
		return result, err
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return *new(T), fmt.Errorf("%s: %w: %w", method, ErrProtocol, err)
	}
	return result, nil
}

// The agent's side. The methods block and fail as Call and Notify do.

// SessionUpdate sends session/update.
func (c *Conn) SessionUpdate(ctx context.Context, n acp.SessionNotification) error {
	return c.Notify(ctx, acp.ClientMethodSessionUpdate, n)
}

// QueueUpdate sends session/update as Queue does.
func (c *Conn) QueueUpdate(ctx context.Context, n acp.SessionNotification) error {
	body, err := c.prepare(ctx, acp.ClientMethodSessionUpdate, n)
	if err != nil {
		return err
	}
	return c.Queue(ctx, acp.ClientMethodSessionUpdate, body)
}

// CreateElicitation sends elicitation/create, whose parameters are what request
// encodes to, and returns the reply as it came.
func (c *Conn) CreateElicitation(ctx context.Context, request any) (json.RawMessage, error) {
	return c.Call(ctx, acp.ClientMethodElicitationCreate, request)
}

// ClientCapabilities are what the client declared in initialize; ok is false
// before that has come.
func (c *Conn) ClientCapabilities() (caps acp.ClientCapabilities, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.declared == nil {
		return caps, false
	}
	return *c.declared, true
}

// declare keeps what an initialize says. One that cannot be read declares
// nothing.
func (c *Conn) declare(params json.RawMessage) {
	var r acp.InitializeRequest
	if json.Unmarshal(Version1(params), &r) != nil {
		r = acp.InitializeRequest{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.declared = &r.ClientCapabilities
}

// The client's side.

// Initialize sends initialize.
func (c *Conn) Initialize(ctx context.Context, req acp.InitializeRequest) (acp.InitializeResponse, error) {
	return CallFor[acp.InitializeResponse](ctx, c, acp.AgentMethodInitialize, req)
}

// NewSession sends session/new.
func (c *Conn) NewSession(ctx context.Context, req acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	return CallFor[acp.NewSessionResponse](ctx, c, acp.AgentMethodSessionNew, req)
}

// LoadSession sends session/load.
func (c *Conn) LoadSession(ctx context.Context, req acp.LoadSessionRequest) (acp.LoadSessionResponse, error) {
	return CallFor[acp.LoadSessionResponse](ctx, c, acp.AgentMethodSessionLoad, req)
}

// Prompt sends session/prompt and returns when the turn is over. To end a turn
// and still get its stop reason use Cancel: ending ctx gives up on the answer.
func (c *Conn) Prompt(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
	return CallFor[acp.PromptResponse](ctx, c, acp.AgentMethodSessionPrompt, req)
}

// Cancel sends session/cancel.
func (c *Conn) Cancel(ctx context.Context, n acp.CancelNotification) error {
	return c.Notify(ctx, acp.AgentMethodSessionCancel, n)
}
