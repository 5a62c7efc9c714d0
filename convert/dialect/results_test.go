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
		{"claude", "", "invalid reply: expected the result of the call, got nothing"},
		{"codex", " \n", "expected the result of the call, got nothing"},
		{"gemini", "", "expected the result of the call, got nothing"},
		{"go", "", "expected the result of the call, got nothing"},
		{"qwen", "", "expected the result of the call, got nothing"},
		{"cursor", `{"jsonrpc":"2.0","id":1}`, "expected a result or an error in the JSON-RPC response"},
		{"cline", `{"jsonrpc":"2.0","id":1,"result":{"answer":"a"}}`, "expected the answer as a text, got a JSON-RPC response"},
		{"opal", `{"jsonrpc":"2.0","id":1,"result":{"text":"a"}}`, `expected {"answer":"…"}, got {"text":"a"}`},
		{"opal", `{"jsonrpc":"2.0","id":1,"result":null}`, `expected {"answer":"…"}, got null`},
		{"codex", `{"answers":{"q1":{"answers":["a"]},"q9":{"answers":["b"]}}}`, `expected answers to the questions that were asked, got one to "q9"`},
		{"codex", `{"answers":{"q1":["a"]}}`, `question 1: invalid reply: expected {"answers":[…]}, got an array`},
		{"codex", `{"answers":{"q1":{"answers":"a"}}}`, "got a string as answers"},
		{"codex", `{"answers":{"q1":{"answers":[5]}}}`, "expected a list of strings, got a number in it"},
		{"codex", `{"answers":{"q1":{"answers":["my own","another"]}}}`, "expected a label or one text, got several texts"},
		{"gemini", `{"answers":{}}`, "no question has an answer"},
		{"gemini", `{"answers":{"0":"a","1":"b"}}`, `got one to "1"`},
		{"gemini", `{"answers":{"00":"a"}}`, `got one to "00"`},
		{"kimi", `{"answers":{}}`, "no question has an answer"},
		{"grok", `{"jsonrpc":"2.0","id":1,"result":{"outcome":"accepted","answers":{"Which?":["a"],"Why?":["b"]}}}`, `got one to "Why?"`},
		{"grok", `{"jsonrpc":"2.0","id":1,"result":{"outcome":"accepted","answers":{"Which?":["a"]},"annotations":{"Why?":{"notes":"b"}}}}`, `got one to "Why?"`},
		{"cursor", `{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"answered","answers":[{"questionId":"q1","selectedOptionIds":["o1"]},{"questionId":"q1","selectedOptionIds":["o2"]}]}}}`, "expected one answer to each of the questions"},
		{"crush", "Q1: Which?\nUser selected: o1", `expected User selected: ["<id>",…], got o1`},
		{"ag-ui", `{"resume":[{"interruptId":"int-1","status":"resolved","payload":{"question_0":"a"}},{"interruptId":"int-9","status":"resolved","payload":"b"}]}`, "once for each interrupt of the run"},
		{"ag-ui", `{"resume":[{"interruptId":"int-1","status":"resolved","payload":{"question_0":"a"}},{"interruptId":"int-1","status":"cancelled"}]}`, "once for each interrupt of the run"},
		{"ag-ui", `{"resume":[]}`, `expected {"resume":[{"interruptId":"…"`},
		{"ag-ui", `{"resume":[{"interruptId":"int-1","status":"no"}]}`, `expected {"resume":[{"interruptId":"…"`},
		{"ag-ui", `{"resume":[{"interruptId":"int-9","status":"cancelled"}]}`, `expected {"resume":[{"interruptId":"…"`},
	} {
		_, err := dialect.ReadResult(asked(t, tc.dialect, false), []byte(tc.result))
		require.ErrorContains(t, err, tc.expected, "%s: %s", tc.dialect, tc.result)
	}
}

// Answers in a text are found by their questions. In another order they would run
// into each other.
func TestAnswersInAnotherOrder(t *testing.T) {
	two := convert.Call{ID: "c1", Questions: []convert.Question{
		{Text: "One?", Header: "A", Options: []convert.Option{{Label: "a"}, {Label: "b"}}},
		{Text: "Two?", Header: "B", Options: []convert.Option{{Label: "x"}, {Label: "y"}}},
	}}
	for id, result := range map[string]string{
		"go":        "Two?\nx\n\nOne?\na",
		"langgraph": `[{"type":"response","args":"Two?\nx\n\nOne?\na"}]`,
		"qwen":      "User has provided the following answers:\n\n**B**: x\n**A**: a",
	} {
		_, err := dialect.ReadResult(written(t, id, two), []byte(result))
		require.ErrorIs(t, err, convert.ErrProtocol, id)
		require.ErrorContains(t, err, "once, in the order", id)
	}
}

// What tells nothing of the user is a failure, never the user's no.
func TestNobodysChoice(t *testing.T) {
	for _, tc := range []struct{ dialect, result, reason string }{
		{"codex", `{"answers":{}}`, "there are no answers: Codex's clients say so for a user who declines, and for a question that they could not ask"},
		{"cursor", `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"Authentication required"}}`, "Authentication required"},
		{"grok", `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}`, "Method not found"},
	} {
		o, err := dialect.ReadResult(asked(t, tc.dialect, false), []byte(tc.result))
		require.NoError(t, err, "%s: %s", tc.dialect, tc.result)
		require.Equal(t, convert.Outcome{Status: convert.Failed, Reason: tc.reason}, o)
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
