// Package scripted is a backend that plays a script to the editor: at each prompt
// a turn of it. It needs no model and no network.
package scripted

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/convert"
)

// Agent is what is played.
type Agent struct {
	// Word says what it is, in the ids of its sessions, too: "demo".
	Word string
	// Name is that of the command that plays it, Version its version.
	Name, Version string
	// Prompt is what the script makes of every prompt.
	Prompt string
	// Met gets what the editor says of itself; nil for nobody.
	Met func(acp.InitializeRequest)
	// New makes what plays the turns of a session.
	New func(*editor.Session) (turn func())

	mu       sync.Mutex
	sessions int
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
	a.mu.Lock()
	a.sessions++
	id := a.Word + "-" + strconv.Itoa(a.sessions)
	a.mu.Unlock()
	out := o.Session(id)
	return &conversation{agent: a, out: out, turn: a.New(out)}, acp.NewSessionResponse{SessionId: acp.SessionId(id)}, nil
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

// conversation plays one session. It is done with a turn as soon as its questions
// are over, so there is nothing to interrupt.
type conversation struct {
	agent *Agent
	out   *editor.Session
	turn  func()
	turns sync.WaitGroup

	mu     sync.Mutex
	killed bool
}

func (c *conversation) Start(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.killed = false
	return nil
}

func (c *conversation) Read(acp.PromptRequest) (any, error)   { return c.agent.Prompt, nil }
func (c *conversation) Interrupt(context.Context, bool) error { return nil }
func (c *conversation) Close(context.Context) error           { c.turns.Wait(); return nil }
func (c *conversation) Request(ctx context.Context, method string, params json.RawMessage) (any, error) {
	return c.agent.Request(ctx, method, params)
}

// Kill is called when the editor has not read the end of a turn for a while.
func (c *conversation) Kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.killed = true
}

// Prompt plays a turn.
func (c *conversation) Prompt(id string, _ any) error {
	c.turns.Go(func() {
		c.out.Began(false)
		c.turn()
		c.out.EndTurn(editor.TurnEnd{Prompts: []string{id}, Reason: acp.StopReasonEndTurn}, func(bool) {})
		c.mu.Lock()
		killed := c.killed
		c.mu.Unlock()
		if killed {
			c.out.Exited(fmt.Errorf("the %s was stopped", c.agent.Word), func(bool) {})
		}
	})
	return nil
}

// Ask asks and waits for the outcome.
func Ask(out *editor.Session, call convert.Call) convert.Outcome {
	outcome := make(chan convert.Outcome, 1)
	out.AskQuestion(call.ID, false, call, func(o convert.Outcome) bool { outcome <- o; return false })
	defer out.Used(call.ID)
	return <-outcome
}
