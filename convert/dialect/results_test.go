package dialect_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
)

// asked is a call of one question, as it arrives in a dialect.
func asked(t *testing.T, id string, several bool) dialect.Request {
	return written(t, id, convert.Call{ID: "c1", Questions: []convert.Question{{
		Text: "Which?", Header: "H", MultiSelect: several, Options: []convert.Option{{Label: "a"}, {Label: "b"}},
	}}})
}

// A result that is not of its shape is no answer: nothing in it is taken for
// what the user picked or wrote, and nothing for the user's no.
func TestNoAnswerInIt(t *testing.T) {
	for _, tc := range []struct{ dialect, result, expected string }{
		{"claude", `{"behavior":"allow","updatedInput":{"answers":{"Which?":5}}}`, "question 1: invalid reply: expected a string or a list of strings, got a number"},
		{"claude", `{"behavior":"allow","updatedInput":{"answers":{"Which?":{"a":1}}}}`, "got an object"},
		{"claude", `{"behavior":"allow","updatedInput":{"answers":{"Which?":true}}}`, "got a boolean"},
		{"claude", `{"behavior":"allow","updatedInput":{"answers":{"Which?":["a",5]}}}`, "expected a list of strings, got a number in it"},
		{"claude", `{"behavior":"allow","updatedInput":{"answers":{"Which?":"a","Why?":"b"}}}`, `expected answers to the questions that were asked, got one to "Why?"`},
		{"claude", `{"behavior":"allow","updatedInput":{"answers":{"Which?":["a","b"]}}}`, "question 1 takes one option, got 2"},
		{"phoenix", `{"answers":{"Which?":5}}`, "got a number"},
		{"kimi", `{"answers":{"Which?":{}}}`, "got an object"},
		{"gemini", `{"answers":{"0":5}}`, "got a number"},
		{"grok", `{"jsonrpc":"2.0","id":1,"result":{"outcome":"accepted","answers":{"Which?":[{"a":1}]}}}`, "got an object in it"},
		{"opencode", `{"answers":[[{"a":1}]]}`, "got an object in it"},
		{"pi", `{"answered":true,"answers":[{"question":"Which?","answer":5,"wasCustom":false}]}`, "got a number"},
		{"pi", `{"answered":true,"answers":[{"question":"Which?","answer":"c","selectedOption":"c","wasCustom":false}]}`, `expected one of the options, got "c"`},
		{"crush", "Q1: Which?\nUser answered: maybe", "expected User answered: yes or User answered: no"},
		{"crush", "Q1: Which?\nUser left", "expected User selected: …, User provided: … or User skipped this question"},
		{"ag-ui", `{"resume":[]}`, `expected {"resume":[{"interruptId":"…"`},
		{"ag-ui", `{"resume":[{"interruptId":"int-1","status":"no"}]}`, `expected {"resume":[{"interruptId":"…"`},
		{"ag-ui", `{"resume":[{"interruptId":"int-9","status":"cancelled"}]}`, `expected {"resume":[{"interruptId":"…"`},
	} {
		_, err := dialect.ReadResult(asked(t, tc.dialect, false), []byte(tc.result))
		require.ErrorContains(t, err, tc.expected, "%s: %s", tc.dialect, tc.result)
	}
}

// Claude Code takes a list of picks where its own result has a string.
func TestListOfPicks(t *testing.T) {
	for id, result := range map[string]string{
		"claude":  `{"behavior":"allow","updatedInput":{"answers":{"Which?":["b","a","more"]}}}`,
		"phoenix": `{"answers":{"Which?":["b","a","more"]}}`,
	} {
		o, err := dialect.ReadResult(asked(t, id, true), []byte(result))
		require.NoError(t, err)
		require.Equal(t, []convert.Answer{{Selected: []string{"a", "b"}, Text: "more"}}, o.Answers)
	}
}

// Of keys that come twice the last counts, as it does for the agent: the user
// answers the question that it takes itself to have asked.
func TestLastKeyCounts(t *testing.T) {
	for id, call := range map[string]string{
		"opal":    `{"question":"one?","question":"two?","choices":["x"],"choices":["a","b"]}`,
		"copilot": `{"question":"one?","question":"two?","choices":["x"],"choices":["a","b"],"allow_freeform":true}`,
		"cline":   `{"name":"ask_question","input":{},"input":{"question":"one?","question":"two?","options":["a","b"]}}`,
		"roo":     `{"question":"one?","question":"two?","follow_up":["x"],"follow_up":["a","b"]}`,
		"cursor":  `{"questions":[{"id":"1","prompt":"one?","prompt":"two?","options":[],"options":[{"id":"1","label":"a"},{"id":"2","label":"b"}]}]}`,
		"crush":   `{"questions":[{"type":"single_choice","question":"one?","question":"two?","choices":[{"id":"1","label":"a"},{"id":"2","label":"b"}]}]}`,
	} {
		req, err := dialect.Decode([]byte(call), id)
		require.NoError(t, err, id)
		require.Equal(t, "two?", req.Call.Questions[0].Text, id)
		require.Equal(t, "b", req.Call.Questions[0].Options[1].Label, id)
	}
}
