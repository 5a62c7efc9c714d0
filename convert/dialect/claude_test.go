package dialect_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// What goes back is valid JSON with the questions as they came and one string
// per answered question.
func TestUpdatedInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		made := acptest.Call(t)
		c := acptest.Must(convert.Parse(updatedInput(made, nil), convert.Limits{}))
		require.Equal(t, made.Questions, c.Questions)
		answers := make([]convert.Answer, len(c.Questions))
		for i, q := range c.Questions {
			if rapid.Bool().Draw(t, "answered") {
				answers[i] = convert.Answer{Selected: []string{q.Options[0].Label}, Note: rapid.String().Draw(t, "note")}
			}
		}
		out := updatedInput(c, answers)
		require.True(t, json.Valid(out), "%s", out)
		require.Equal(t, gjson.GetBytes(c.Input, "questions").Raw, gjson.GetBytes(out, "questions").Raw)
		var got struct{ Answers map[string]string }
		require.NoError(t, json.Unmarshal(out, &got))
		for i, q := range c.Questions {
			text, ok := got.Answers[q.Text]
			require.Equal(t, !answers[i].Empty(), ok)
			if ok {
				require.Equal(t, q.AnswerText(answers[i]), text)
			}
		}
	})
}

// A preview is told with its pick, and only where that is the only one.
func TestPreviewOfTheOnlyPick(t *testing.T) {
	q := convert.Question{Text: "Q?", MultiSelect: true, Options: []convert.Option{{Label: "a", Preview: "pa"}, {Label: "b", Preview: "pb"}, {Label: "c"}}}
	c := convert.Call{Questions: []convert.Question{q}}
	for want, a := range map[string]convert.Answer{
		`{"Q?":{"preview":"pb"}}`:             {Selected: []string{"b"}},
		`{"Q?":{"preview":"pb","notes":"n"}}`: {Selected: []string{"b"}, Note: "n"},
		`{"Q?":{"notes":"n"}}`:                {Selected: []string{"a", "b"}, Note: "n"},
		``:                                    {Selected: []string{"a", "b"}},
	} {
		require.Equal(t, want, gjson.GetBytes(updatedInput(c, []convert.Answer{a}), "annotations").Raw)
	}
	for _, a := range []convert.Answer{{Text: "own"}, {Selected: []string{"c"}}} {
		require.False(t, gjson.GetBytes(updatedInput(c, []convert.Answer{a}), "annotations").Exists())
	}
}

// A user who dismisses the question, a question that is taken away and an editor that is
// gone end the agent's turn.
func TestWhatInterruptsClaude(t *testing.T) {
	for status, want := range map[convert.Status]string{
		convert.Cancelled:    `{"behavior":"deny","message":"User cancelled the question","interrupt":true}`,
		convert.Withdrawn:    `{"behavior":"deny","message":"why","interrupt":true}`,
		convert.Disconnected: `{"behavior":"deny","message":"why","interrupt":true}`,
		convert.Declined:     `{"behavior":"deny","message":"User declined to answer"}`,
		convert.Failed:       `{"behavior":"deny","message":"why"}`,
	} {
		require.JSONEq(t, want, string(dialect.ClaudeResult(convert.Call{}, convert.Outcome{Status: status, Reason: "why"})), status)
	}
}

// updatedInput is the input that goes back with answers.
func updatedInput(c convert.Call, answers []convert.Answer) []byte {
	result := dialect.ClaudeResult(c, convert.Outcome{Status: convert.Answered, Answers: answers})
	return []byte(gjson.GetBytes(result, "updatedInput").Raw)
}
