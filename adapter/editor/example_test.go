package editor_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/convert"
)

// asker is an agent that asks one question at each prompt, and says what it got.
type asker struct{}

func (asker) Initialize(context.Context, acp.InitializeRequest, json.RawMessage) (any, error) {
	return acp.InitializeResponse{ProtocolVersion: acp.ProtocolVersionNumber, AuthMethods: []acp.AuthMethod{}}, nil
}

func (asker) Open(_ context.Context, o editor.Opening) (editor.Conversation, any, error) {
	return &asking{o.Session("s1")}, acp.NewSessionResponse{SessionId: "s1"}, nil
}

func (asker) Request(_ context.Context, method string, _ json.RawMessage) (any, error) {
	return nil, acp.NewMethodNotFound(method)
}

// asking is a session of it. There is no process: a turn is a question.
type asking struct{ session *editor.Session }

func (a *asking) Start(context.Context) error           { return nil }
func (a *asking) Read(r acp.PromptRequest) (any, error) { return r.Prompt, nil }
func (a *asking) Interrupt(context.Context, bool) error { return nil }
func (a *asking) Kill()                                 {}
func (a *asking) Close(context.Context) error           { return nil }
func (a *asking) Request(_ context.Context, method string, _ json.RawMessage) (any, error) {
	return nil, acp.NewMethodNotFound(method)
}

func (a *asking) Prompt(id string, _ any) error {
	call := convert.Call{Session: "s1", ID: "toolu_1", Questions: []convert.Question{
		{Text: "Which database?", Options: []convert.Option{{Label: "PostgreSQL"}, {Label: "SQLite"}}}}}
	go func() { // Prompt must not block, nor call the session
		a.session.Began(false)
		outcome := make(chan convert.Outcome, 1)
		a.session.AskQuestion(call.ID, false, call, func(o convert.Outcome) bool { outcome <- o; return true })
		fmt.Println("the agent gets", (<-outcome).Answers[0].Selected)
		a.session.EndTurn(editor.TurnEnd{Prompts: []string{id}, Reason: acp.StopReasonEndTurn}, func(bool) {})
	}()
	return nil
}

// A backend is an agent; the front asks its questions in whatever way the editor
// has. Here the editor has permission requests, and picks the second option.
func ExampleServe() {
	fromEditor, toAgent := io.Pipe()
	fromAgent, toEditor := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- editor.Serve(context.Background(), fromEditor, toEditor, asker{}, nil) }()

	send := func(format string, args ...any) { fmt.Fprintf(toAgent, `{"jsonrpc":"2.0",`+format+"}\n", args...) }
	go send(`"id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}`)
	lines := bufio.NewScanner(fromAgent)
	for open := true; open && lines.Scan(); {
		line := gjson.ParseBytes(lines.Bytes())
		switch {
		case line.Get("result.protocolVersion").Exists():
			send(`"id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}`)
		case line.Get("result.sessionId").Exists():
			send(`"id":3,"method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"Set it up"}]}`)
		case line.Get("method").Str == acp.ClientMethodSessionRequestPermission:
			fmt.Println("the editor shows", line.Get("params.options.#.name"))
			send(`"id":%s,"result":{"outcome":{"outcome":"selected","optionId":"SQLite"}}`, line.Get("id").Raw)
		case line.Get("result.stopReason").Exists():
			fmt.Println("the turn ends:", line.Get("result.stopReason"))
			toAgent.Close() // the editor leaves
			open = false
		}
	}
	<-done
	// Output:
	// the editor shows ["PostgreSQL","SQLite","Other (type custom answer)"]
	// the agent gets [SQLite]
	// the turn ends: end_turn
}
