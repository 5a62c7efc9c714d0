package adapter_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/terminal"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
)

// A Go agent registers the tool and asks on its terminal (terminal.Resolver{} in
// place of what stands here); with an [adapter.Adapter] it asks in an editor.
func Example() {
	tool := adapter.NewTool(terminal.Resolver{In: strings.NewReader("2\n"), Out: io.Discard})
	input := json.RawMessage(`{"questions":[{"question":"Which database?","header":"Database",
		"options":[{"label":"PostgreSQL"},{"label":"SQLite","description":"one file"}]}]}`)
	text, isError := tool.Run(context.Background(), "session", "call", input)
	fmt.Printf("%s: %t\n%s\n", tool.Name, isError, text)
	// Output:
	// ask_user_question: false
	// Which database?
	// SQLite
}

// An adapter asks over anything that can request a permission.
func ExampleAdapter_Ask() {
	editor := &scripted{buttons: []any{"SQLite"}}
	call, err := convert.Parse([]byte(`{"questions":[{"question":"Which database?","options":["PostgreSQL","SQLite"]}]}`), convert.Limits{})
	if err != nil {
		panic(err)
	}
	call.Session, call.ID = "s1", "toolu_1"
	outcome, _ := adapter.New(editor, nil).Ask(context.Background(), call)
	fmt.Println(outcome.Status)
	fmt.Println(string(dialect.ClaudeResult(call, outcome)))
	// Output:
	// answered
	// {"behavior":"allow","updatedInput":{"questions":[{"question":"Which database?","options":["PostgreSQL","SQLite"]}],"answers":{"Which database?":"SQLite"}}}
}

// Opal's ask_user. A sub-agent gets the same tool, which asks its parent, and only
// where there is none the user.
func ExampleNewAskUser() {
	user := adapter.Static{Answers: []convert.Answer{{Text: "orders"}}} // terminal.Resolver{}, an *adapter.Adapter
	parent := adapter.Func(func(_ context.Context, c convert.Call) ([]convert.Answer, error) {
		fmt.Println("the parent is asked:", c.Questions[0].Text)
		return []convert.Answer{{Selected: []string{"SQLite"}}}, nil
	})
	tools := []*adapter.Tool{adapter.NewAskUser(user)}
	forSubAgents := []*adapter.Tool{tools[0].AskParent(parent)}

	input := json.RawMessage(`{"question":"Which database?","choices":["PostgreSQL","SQLite"]}`)
	fmt.Println(forSubAgents[0].Run(context.Background(), "session", "call-1", input))
	fmt.Println(tools[0].Run(context.Background(), "session", "call-2", json.RawMessage(`{"question":"What name?"}`)))
	// Output:
	// the parent is asked: Which database?
	// SQLite false
	// orders false
}
