package adapter_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/convert"
)

func TestLines(t *testing.T) {
	free := convert.Question{Text: "What name?"}
	for name, test := range map[string]struct {
		question convert.Question
		input    string
		want     convert.Answer
		status   convert.Status
	}{
		"number":              {pick, "2\n", convert.Answer{Selected: []string{"SQLite"}}, convert.Answered},
		"numbers":             {multi, "3, 1\n", convert.Answer{Selected: []string{"Auth", "Logs"}}, convert.Answered},
		"label":               {pick, "sqlite\n", convert.Answer{Selected: []string{"SQLite"}}, convert.Answered},
		"other":               {pick, "other use Redis\n", convert.Answer{Text: "use Redis"}, convert.Answered},
		"Other in capitals":   {pick, "OTHER  Redis \n", convert.Answer{Text: "Redis"}, convert.Answered},
		"free text":           {free, "other names\n", convert.Answer{Text: "other names"}, convert.Answered},
		"numbers apart":       {multi, "1 3\n", convert.Answer{Selected: []string{"Auth", "Logs"}}, convert.Answered},
		"own words":           {pick, "maybe\n", convert.Answer{Text: "maybe"}, convert.Answered},
		"own words beside":    {multi, "1, other x\n", convert.Answer{Selected: []string{"Auth"}, Text: "x"}, convert.Answered},
		"asked again":         {pick, "\n1,2\nother\n1\n", convert.Answer{Selected: []string{"PostgreSQL"}}, convert.Answered},
		"cancel":              {pick, "cancel\n", convert.Answer{}, convert.Cancelled},
		"empty line":          {pick, "\n2\n", convert.Answer{Selected: []string{"SQLite"}}, convert.Answered},
		"end of input":        {pick, "", convert.Answer{}, convert.Disconnected},
		"no newline at EOF":   {pick, "1", convert.Answer{Selected: []string{"PostgreSQL"}}, convert.Answered},
		"free text cancelled": {free, "  \n Cancel\n", convert.Answer{}, convert.Cancelled},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			lines := &adapter.Lines{In: strings.NewReader(test.input), Out: &out}
			o, err := lines.Ask(t.Context(), callOf("q", test.question))
			require.Equal(t, test.status, o.Status, "%s\n%s", o.Reason, out.String())
			require.Contains(t, out.String(), test.question.Text)
			if test.status == convert.Answered {
				require.NoError(t, err)
				require.Equal(t, []convert.Answer{test.want}, o.Answers)
			} else {
				require.ErrorIs(t, err, convert.Outcome{Status: test.status}.Err())
			}
		})
	}
}

func TestLinesShowsWhatToType(t *testing.T) {
	var out bytes.Buffer
	q := convert.Question{Text: "Which\x1b[2J?", Header: "Pick\n2", Options: []convert.Option{{Label: "a\n2. fake", Description: "first"}, {Label: "b"}}}
	_, _ = (&adapter.Lines{In: strings.NewReader("1\n"), Out: &out}).Ask(t.Context(), callOf("q", q))
	require.Equal(t, "[Pick 2] Which?\n  1. a 2. fake\n     first\n  2. b\n(a number, a label or your own words; cancel dismisses the question)\n> ", out.String())
}

func TestLinesEndsWithItsContext(t *testing.T) {
	in, typed := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o, _ := (&adapter.Lines{In: in, Out: io.Discard}).Ask(ctx, callOf("q", pick))
	require.Equal(t, convert.Cancelled, o.Status)
	typed.Close()
}

func TestStaticAndFunc(t *testing.T) {
	o, err := adapter.Static{Answers: one("SQLite")}.Ask(t.Context(), callOf("q", pick))
	require.NoError(t, err)
	require.Equal(t, one("SQLite"), o.Answers)
	o, err = adapter.Static{Err: fmt.Errorf("closed: %w", convert.ErrCancelled)}.Ask(t.Context(), callOf("q", pick))
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
	o, err = adapter.SubAgent(adapter.Static{Answers: one("SQLite")}).Ask(t.Context(), callOf("q", pick))
	require.NoError(t, err)
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
		"failed":     {adapter.Static{Err: errors.New("no screen")}, input, "no screen", true},
		"sub-agent":  {adapter.SubAgent(nil), input, "ask_user_question is not available to sub-agents", true},
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

// A call that was given up leaves the next line to the next call.
func TestLinesAfterACancelledCall(t *testing.T) {
	in, typed := io.Pipe()
	lines := &adapter.Lines{In: in, Out: io.Discard}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	o, _ := lines.Ask(ctx, callOf("q", pick))
	require.Equal(t, convert.Failed, o.Status, "a deadline is not the user's doing")
	go func() {
		_, _ = io.WriteString(typed, "2\n")
		typed.Close()
	}()
	o, err := lines.Ask(t.Context(), callOf("q", pick))
	require.NoError(t, err)
	require.Equal(t, one("SQLite"), o.Answers)
	o, _ = lines.Ask(t.Context(), callOf("q", pick))
	require.Equal(t, convert.Disconnected, o.Status)
}

// A Lines that is closed leaves no reader behind, and ends what is open.
func TestLinesClose(t *testing.T) {
	in, _ := io.Pipe()
	lines := &adapter.Lines{In: in, Out: io.Discard}
	open := begin(t.Context(), lines, callOf("q", pick))
	require.NoError(t, lines.Close())
	require.Equal(t, convert.Disconnected, open.wait().Status)
	require.NoError(t, lines.Close())
	o, _ := lines.Ask(t.Context(), callOf("q", pick))
	require.Equal(t, convert.Disconnected, o.Status)
}

// Answers from code arrive as answers of a user do: in option order, each once.
func TestAnswersFromCodeAreInOrder(t *testing.T) {
	f := adapter.Func(func(context.Context, convert.Call) ([]convert.Answer, error) {
		return []convert.Answer{{Selected: []string{"Logs", "Auth", "Auth"}}}, nil
	})
	o, err := f.Ask(t.Context(), callOf("q", multi))
	require.NoError(t, err)
	require.Equal(t, []convert.Answer{{Selected: []string{"Auth", "Logs"}}}, o.Answers)
	both := adapter.Static{Answers: []convert.Answer{{Selected: []string{"SQLite"}, Text: "and more"}}}
	o, _ = both.Ask(t.Context(), callOf("q", pick))
	require.Equal(t, convert.Failed, o.Status)
}
