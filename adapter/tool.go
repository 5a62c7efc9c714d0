package adapter

import (
	"context"
	_ "embed"
	"encoding/json"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
)

// Names under which the tool is usually registered.
const (
	// ToolName is the usual spelling in Go agents.
	ToolName = "ask_user_question"
	// ClaudeToolName is Claude Code's spelling.
	ClaudeToolName = "AskUserQuestion"
)

// toolDescription is what the model reads about the tool.
const toolDescription = `Put one to four multiple-choice questions to the person you work for and wait for the answers.

Call it when the next step depends on a preference or a decision that neither the request nor the code settles. Do not call it for what you can find out yourself, and do not ask the same thing twice.

- Give each question two to four options that differ in what will happen. Put the one you would choose first and end its label with "(Recommended)".
- The header names the topic in a word or two (12 characters).
- Set multiSelect when options can be combined.
- Leave out an option for "something else": people can always answer in their own words.
- Ask related questions in one call.

If the person cancels, the result says so: go on without an answer or stop, but do not ask again at once.`

//go:embed tool_schema.json
var toolSchema []byte

// Tool lets a Go agent ask questions: register its Name, Description and
// Schema with the model, and call [Tool.Run] with the input the model gives.
type Tool struct {
	Name        string
	Description string
	// Schema is the JSON schema of the input.
	Schema json.RawMessage
	// Limits bound what the model may ask.
	Limits convert.Limits

	resolver Resolver
	dialect  string // what calls and results are written in; "" for lists of questions
}

// NewTool makes a tool with the name [ToolName].
func NewTool(r Resolver) *Tool { return NewToolNamed(ToolName, r) }

// NewToolNamed makes a tool with another name, such as [ClaudeToolName].
func NewToolNamed(name string, r Resolver) *Tool {
	return &Tool{Name: name, Description: toolDescription, Schema: toolSchema, resolver: r}
}

// NewAskUser makes Opal's ask_user: one question, with choices or without, whose
// result is the bare answer. Limits do not apply to it.
func NewAskUser(r Resolver) *Tool {
	spec, err := dialect.Spec(opal)
	if err != nil {
		panic(err) // it is part of the program
	}
	return &Tool{Name: spec.Name, Description: spec.Description, Schema: spec.Schema, resolver: r, dialect: opal}
}

const opal = "opal"

// AskParent is the same tool for a sub-agent, to be registered in place of t: the
// parent answers, and where there is none, whoever t asks.
func (t *Tool) AskParent(parent Resolver) *Tool {
	sub := *t
	sub.resolver = SubAgents{Parent: parent, User: t.resolver}
	return &sub
}

// Run asks the questions in a tool input and returns the result for the model:
// the answers as [convert.Format] writes them, or what is wrong with the input
// as an error that the model can act on. A user who cancels is not an error.
//
// Run blocks until the resolver is done. Session and id say where the questions
// belong; both may be empty.
func (t *Tool) Run(ctx context.Context, session, id string, input json.RawMessage) (text string, isError bool) {
	if t.dialect != "" {
		return t.runIn(ctx, session, id, input)
	}
	call, err := convert.Parse(input, t.Limits)
	if err != nil {
		return err.Error(), true
	}
	return convert.TextResult(call, t.ask(ctx, session, id, &call))
}

// runIn is Run in the tool's dialect.
func (t *Tool) runIn(ctx context.Context, session, id string, input json.RawMessage) (text string, isError bool) {
	call, err := json.Marshal(map[string]any{"name": t.Name, "input": input})
	if err != nil {
		return convert.ErrInvalidJSON.Error(), true
	}
	req, err := dialect.Decode(call, t.dialect)
	if err != nil {
		return err.Error(), true
	}
	outcome := t.ask(ctx, session, id, &req.Call)
	result := dialect.Encode(req, dialect.Reply{Outcome: outcome})
	return string(result.Body), result.IsError
}

func (t *Tool) ask(ctx context.Context, session, id string, call *convert.Call) convert.Outcome {
	call.Session, call.ID, call.Name = session, id, t.Name
	outcome, err := resolve(ctx, t.resolver, *call)
	outcome, _ = Settle(*call, outcome, err)
	return outcome
}
