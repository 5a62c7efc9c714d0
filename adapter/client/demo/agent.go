package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/claude/agent"
	"github.com/acp-bridge/acp-bridge/adapter/conn"
	"github.com/acp-bridge/acp-bridge/convert"
)

// player is the agent of one client.
type player struct {
	version string
	ready   chan struct{} // closed when conn is set
	conn    *conn.Conn

	mu       sync.Mutex
	ask      *adapter.Adapter // made by initialize
	sessions map[string]*session
	calls    int
}

// Serve plays the agent until the client closes its end or ctx ends.
func Serve(ctx context.Context, r io.Reader, w io.Writer, version string) error {
	p := &player{version: version, ready: make(chan struct{}), sessions: map[string]*session{}}
	p.initialize(acp.InitializeRequest{}) // for a client that does not
	p.conn = conn.New(r, w, p, &conn.Options{Logger: slog.New(slog.DiscardHandler)})
	close(p.ready)
	select {
	case <-p.conn.Done():
	case <-ctx.Done():
	}
	for _, s := range p.all() {
		s.cancel(convert.ErrDisconnected)
	}
	err := p.conn.Close()
	for _, s := range p.all() {
		s.runs.Wait()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Notify takes session/cancel.
func (p *player) Notify(_ context.Context, method string, params json.RawMessage) {
	var n acp.CancelNotification
	if method != acp.AgentMethodSessionCancel || json.Unmarshal(params, &n) != nil {
		return
	}
	if s := p.session(n.SessionId); s != nil {
		s.cancel(convert.ErrCancelled)
	}
}

// Accept takes requests in the order in which they came: a session/cancel
// behind a prompt is meant for it.
func (p *player) Accept(ctx context.Context, method string, params json.RawMessage) conn.Answer {
	if method != acp.AgentMethodSessionPrompt {
		result, err := p.Request(ctx, method, params)
		return func() (any, error) { return result, err }
	}
	var r acp.PromptRequest
	if err := json.Unmarshal(params, &r); err != nil {
		return refuse("%v", err)
	}
	s := p.session(r.SessionId)
	if s == nil {
		return refuse("there is no session %q", r.SessionId)
	}
	return s.prompt(ctx, words(r.Prompt))
}

func refuse(format string, args ...any) conn.Answer {
	err := acp.NewInvalidParams(map[string]any{"error": fmt.Sprintf(format, args...)})
	return func() (any, error) { return nil, err }
}

// words is the text of a prompt.
func words(blocks []acp.ContentBlock) string {
	var text string
	for _, b := range blocks {
		if b.Text != nil {
			text += b.Text.Text
		}
	}
	return text
}

// Request answers everything but prompts.
func (p *player) Request(_ context.Context, method string, params json.RawMessage) (any, error) {
	switch method {
	case acp.AgentMethodInitialize:
		var r acp.InitializeRequest
		if err := json.Unmarshal(params, &r); err != nil {
			_, err := refuse("%v", err)()
			return nil, err
		}
		return p.initialize(r), nil
	case acp.AgentMethodAuthenticate:
		return acp.AuthenticateResponse{}, nil
	case acp.AgentMethodSessionNew:
		return p.newSession(), nil
	}
	return nil, acp.NewMethodNotFound(method)
}

func (p *player) initialize(r acp.InitializeRequest) acp.InitializeResponse {
	o, _ := agent.AskOptions(r)
	p.mu.Lock()
	p.ask = adapter.New((*client)(p), &o)
	p.mu.Unlock()
	return acp.InitializeResponse{
		ProtocolVersion: acp.ProtocolVersionNumber,
		AgentInfo:       &acp.Implementation{Name: "acp-bridge-demo", Title: acp.Ptr("acp-bridge demo"), Version: p.version},
		AuthMethods:     []acp.AuthMethod{},
	}
}

func (p *player) newSession() acp.NewSessionResponse {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &session{agent: p, id: "demo-" + strconv.Itoa(len(p.sessions)+1)}
	p.sessions[s.id] = s
	return acp.NewSessionResponse{SessionId: acp.SessionId(s.id)}
}

func (p *player) session(id acp.SessionId) *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sessions[string(id)]
}

func (p *player) all() []*session {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []*session
	for _, s := range p.sessions {
		all = append(all, s)
	}
	return all
}

func (p *player) asker() *adapter.Adapter {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ask
}

// callID names the next question call.
func (p *player) callID() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	return "demo_call_" + strconv.Itoa(p.calls)
}

// client is the client as the adapter sees it.
type client player

func (c *client) connection() *conn.Conn {
	<-c.ready
	return c.conn
}

func (c *client) RequestPermission(ctx context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	return c.connection().RequestPermission(ctx, r)
}

func (c *client) CreateElicitation(ctx context.Context, request any) (json.RawMessage, error) {
	return c.connection().CreateElicitation(ctx, request)
}

func (c *client) SessionUpdate(ctx context.Context, n acp.SessionNotification) error {
	return c.connection().SessionUpdate(ctx, n)
}

func (c *client) AskInConversation(ctx context.Context, m adapter.Message) (string, error) {
	return (*player)(c).session(acp.SessionId(m.Session)).park(ctx, m)
}

func (c *client) Done() <-chan struct{} { return c.connection().Done() }
