package adapter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/terminal"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

func TestStaticAndFunc(t *testing.T) {
	o := acptest.Must(adapter.Static{Answers: one("SQLite")}.Ask(t.Context(), callOf("q", pick)))
	require.Equal(t, one("SQLite"), o.Answers)
	o, err := adapter.Static{Err: fmt.Errorf("closed: %w", convert.ErrCancelled)}.Ask(t.Context(), callOf("q", pick))
	require.ErrorIs(t, err, convert.ErrCancelled)
	require.Equal(t, convert.Cancelled, o.Status)

	for name, test := range map[string]struct {
		answers []convert.Answer
		err     error
		want    convert.Status
	}{
		"answers":       {one("SQLite"), nil, convert.Answered},
		"declined":      {nil, convert.ErrDeclined, convert.Declined},
		"disconnected":  {nil, convert.ErrDisconnected, convert.Disconnected},
		"another error": {nil, errors.New("no screen"), convert.Failed},
		"not a label":   {one("Oracle"), nil, convert.Failed},
		"nothing":       {nil, nil, convert.Failed},
		"too many":      {append(one("SQLite"), one("SQLite")...), nil, convert.Failed},
	} {
		f := adapter.Func(func(context.Context, convert.Call) ([]convert.Answer, error) { return test.answers, test.err })
		o, _ := f.Ask(t.Context(), callOf("q", pick))
		require.Equal(t, test.want, o.Status, name)
	}
}

func TestSubAgent(t *testing.T) {
	o, err := adapter.SubAgent(nil).Ask(t.Context(), convert.Call{Questions: []convert.Question{pick}})
	require.ErrorIs(t, err, convert.ErrFailed)
	require.Equal(t, "ask_user_question is not available to sub-agents", o.Reason)
	o = acptest.Must(adapter.SubAgent(adapter.Static{Answers: one("SQLite")}).Ask(t.Context(), callOf("q", pick)))
	require.Equal(t, one("SQLite"), o.Answers)
}

// A parent is asked first, then the user; a parent that fails is not passed
// over.
func TestSubAgents(t *testing.T) {
	parent, user := adapter.Static{Answers: one("SQLite")}, adapter.Static{Answers: one("PostgreSQL")}
	broken := adapter.Static{Err: errors.New("no screen")}
	for name, test := range map[string]struct {
		policy adapter.SubAgents
		want   []convert.Answer
		reason string
	}{
		"the parent":            {adapter.SubAgents{Parent: parent, User: user}, one("SQLite"), ""},
		"no parent":             {adapter.SubAgents{User: user}, one("PostgreSQL"), ""},
		"neither":               {adapter.SubAgents{}, nil, "ask_user is not available to sub-agents"},
		"the parent fails":      {adapter.SubAgents{Parent: broken, User: user}, nil, "Question failed: no screen"},
		"the user is not there": {adapter.SubAgents{User: broken}, nil, "User input request failed: no screen"},
	} {
		c := callOf("q", pick)
		c.Name = "ask_user"
		o, err := test.policy.Ask(t.Context(), c)
		require.Equal(t, test.want, o.Answers, name)
		require.Equal(t, test.reason, o.Reason, name)
		require.Equal(t, test.reason != "", errors.Is(err, convert.ErrFailed), name)
	}
	o, err := adapter.SubAgents{Parent: adapter.Static{Err: convert.ErrCancelled}}.Ask(t.Context(), callOf("q", pick))
	require.ErrorIs(t, err, convert.ErrCancelled, "the user's no stays the user's")
	require.Equal(t, convert.Cancelled, o.Status)
}

func TestTool(t *testing.T) {
	const input = `{"questions":[{"question":"Which?","header":"Pick","options":["a","b"]}]}`
	for name, test := range map[string]struct {
		resolver adapter.Resolver
		input    string
		text     string
		isError  bool
	}{
		"answered":   {adapter.Static{Answers: one("b")}, input, "Which?\nb", false},
		"cancelled":  {adapter.Static{Err: convert.ErrCancelled}, input, "[cancelled by user]", false},
		"withdrawn":  {adapter.Static{Err: convert.ErrWithdrawn}, input, "the question was withdrawn", true},
		"failed":     {adapter.Static{Err: errors.New("no screen")}, input, "no screen", true},
		"sub-agent":  {adapter.SubAgent(nil), input, "ask_user_question is not available to sub-agents", true},
		"nobody":     {nil, input, "there is no Resolver: nobody would answer", true},
		"panics":     {adapter.Func(nil), input, "the Resolver panicked: runtime error: invalid memory address or nil pointer dereference", true},
		"sub-panics": {adapter.SubAgent(adapter.Func(nil)), input, convert.ParentFailed + "the Resolver panicked: runtime error: invalid memory address or nil pointer dereference", true},
		"bad input":  {adapter.Static{}, `{"questions":[{"question":"Which?","options":["a"]}]}`, "question 1: wrong number of options: expected 2 to 4, got 1", true},
		"not JSON":   {adapter.Static{}, `{`, "input is not valid JSON: expected an object with questions", true},
		"bad answer": {adapter.Static{Answers: one("c")}, input, `question could not be answered: question 1 has no option "c"`, true},
	} {
		t.Run(name, func(t *testing.T) {
			text, isError := adapter.NewTool(test.resolver).Run(t.Context(), "s1", "q", json.RawMessage(test.input))
			require.Equal(t, test.text, text)
			require.Equal(t, test.isError, isError)
		})
	}
}

// A context that the host ends is no act of the user's, and the model is not told so.
func TestToolWhoseContextEnds(t *testing.T) {
	const input = `{"questions":[{"question":"Which?","header":"Pick","options":["a","b"]}]}`
	for name, resolver := range map[string]adapter.Resolver{
		"editor":   adapter.New(never{}, nil),
		"terminal": terminal.Resolver{},
		"host": adapter.Func(func(ctx context.Context, _ convert.Call) ([]convert.Answer, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}),
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		text, isError := adapter.NewTool(resolver).Run(ctx, "s1", "q", json.RawMessage(input))
		require.True(t, isError, name)
		require.NotContains(t, text, "cancelled", name)
		text, isError = adapter.NewAskUser(resolver).Run(ctx, "s1", "q", json.RawMessage(`{"question":"Which?","choices":["a","b"]}`))
		require.True(t, isError, name)
		require.NotContains(t, text, "cancelled", name)
	}
}

// Opal's tool: the bare answer, and an error that says who could not be asked.
func TestAskUser(t *testing.T) {
	const input = `{"question":"Which?","choices":["a","b"]}`
	answers, broken := adapter.Static{Answers: one("b")}, adapter.Static{Err: errors.New("no screen")}
	for name, test := range map[string]struct {
		tool    *adapter.Tool
		input   string
		text    string
		isError bool
	}{
		"answered":         {adapter.NewAskUser(answers), input, "b", false},
		"cancelled":        {adapter.NewAskUser(adapter.Static{Err: convert.ErrCancelled}), input, "User input request failed: User cancelled the question", true},
		"failed":           {adapter.NewAskUser(broken), input, "User input request failed: no screen", true},
		"the parent":       {adapter.NewAskUser(broken).AskParent(answers), input, "b", false},
		"no parent":        {adapter.NewAskUser(answers).AskParent(nil), input, "b", false},
		"the parent fails": {adapter.NewAskUser(answers).AskParent(broken), input, "Question failed: no screen", true},
		"not JSON":         {adapter.NewAskUser(answers), `{`, "input is not valid JSON", true},
		"no question":      {adapter.NewAskUser(answers), `{}`, "question 1: question text is required", true},
	} {
		text, isError := test.tool.Run(t.Context(), "s1", "q", json.RawMessage(test.input))
		require.Equal(t, test.text, text, name)
		require.Equal(t, test.isError, isError, name)
	}
	tool := adapter.NewAskUser(answers)
	require.Equal(t, "ask_user", tool.Name)
	require.Equal(t, tool.Schema, tool.AskParent(answers).Schema)
}

func TestToolSpec(t *testing.T) {
	tool := adapter.NewTool(adapter.Static{})
	require.Equal(t, "ask_user_question", tool.Name)
	require.Equal(t, "AskUserQuestion", adapter.NewToolNamed(adapter.ClaudeToolName, adapter.Static{}).Name)
	require.NotEmpty(t, tool.Description)
	var schema struct {
		Required   []string
		Properties map[string]struct{ MinItems, MaxItems int }
	}
	require.NoError(t, json.Unmarshal(tool.Schema, &schema))
	require.Equal(t, []string{"questions"}, schema.Required)
	require.Equal(t, convert.MaxQuestions, schema.Properties["questions"].MaxItems)
}

// Answers from code arrive as answers of a user do: in option order, each once.
func TestAnswersFromCodeAreInOrder(t *testing.T) {
	f := adapter.Func(func(context.Context, convert.Call) ([]convert.Answer, error) {
		return []convert.Answer{{Selected: []string{"Logs", "Auth", "Auth"}}}, nil
	})
	o := acptest.Must(f.Ask(t.Context(), callOf("q", multi)))
	require.Equal(t, []convert.Answer{{Selected: []string{"Auth", "Logs"}}}, o.Answers)
	both := adapter.Static{Answers: []convert.Answer{{Selected: []string{"SQLite"}, Text: "and more"}}}
	o, _ = both.Ask(t.Context(), callOf("q", pick))
	require.Equal(t, convert.Failed, o.Status)
}
