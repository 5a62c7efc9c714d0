package dialect_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// textResults are dialects whose results, or some of them, are text.
var textResults = []string{"codex", "copilot", "gemini", "go", "opal", "qwen"}

// goldenCalls are the calls of the corpus whose cases match a pattern.
func goldenCalls(t testing.TB, patterns ...string) (calls [][]byte) {
	for _, pattern := range patterns {
		for _, name := range acptest.Must(filepath.Glob("../../testdata/golden/" + pattern + ".txtar")) {
			for _, section := range txtar.Parse(acptest.Must(os.ReadFile(name))).Files {
				if section.Name == "call.json" {
					calls = append(calls, section.Data)
				}
			}
		}
	}
	return calls
}

// firstAnswers picks the first option of each question, and writes x where there is
// none.
func firstAnswers(c convert.Call) []convert.Answer {
	answers := make([]convert.Answer, len(c.Questions))
	for i, q := range c.Questions {
		answers[i].Text = "x"
		if len(q.Options) > 0 {
			answers[i] = convert.Answer{Selected: []string{q.Options[0].Label}}
		}
	}
	return answers
}

// A result says which option was picked, and what was written: every other answer is
// another result, and none is that of a question without an answer. Grok has one word
// for a plan to be worked on and for the user's no.
func TestAnotherAnswerIsAnotherResult(t *testing.T) {
	for _, id := range dialect.IDs() {
		for _, call := range goldenCalls(t, "dialect/"+id+"/*") {
			req := acptest.Must(dialect.Decode(call, id))
			results := map[string]convert.Outcome{}
			add := func(o convert.Outcome) string {
				body := string(dialect.Encode(req, dialect.Reply{Outcome: o}).Body)
				require.NotContains(t, results, body, "%s: %v is %v\n%s", id, o, results[body], call)
				results[body] = o
				return body
			}
			add(convert.Outcome{Status: convert.Cancelled, Reason: convert.CancelMessage})
			add(convert.Outcome{Status: convert.Failed, Reason: "no screen"})
			first := firstAnswers(req.Call)
			add(convert.Outcome{Status: convert.Answered, Answers: first})
			for i, q := range req.Call.Questions {
				other := func(a convert.Answer) string {
					answers := slices.Clone(first)
					answers[i] = a
					return add(convert.Outcome{Status: convert.Answered, Answers: answers})
				}
				for _, o := range q.Options[min(1, len(q.Options)):] {
					if id != "grok-plan" || o.Label != "Keep planning" {
						other(convert.Answer{Selected: []string{o.Label}})
					}
				}
				if q.MultiSelect && len(q.Options) > 1 {
					other(convert.Answer{Selected: []string{q.Options[0].Label, q.Options[1].Label}})
				}
				if !q.Closed {
					require.Contains(t, other(convert.Answer{Text: "own words"}), "own words", "%s: %s", id, call)
				}
			}
		}
	}
}

// What is asked for may be a secret. Whoever asked gets it as it was given.
func TestSecretsReachWhoAsked(t *testing.T) {
	const schema = `"requestedSchema":{"type":"object","properties":{"password":{"type":"string","format":"password"}}}`
	for id, call := range map[string]string{
		"mcp":     `{"mode":"form","message":"Log in",` + schema + `}`,
		"copilot": `{"name":"ask_user","input":{"message":"Log in",` + schema + `}}`,
		"pi":      `{"questions":[{"question":"Password"}]}`,
		"claude":  `{"questions":[{"question":"Password?","options":["None","Mine"]}]}`,
	} {
		req, err := dialect.Decode([]byte(call), id)
		require.NoError(t, err, id)
		o := convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Text: "s3cret"}}}
		require.Contains(t, string(dialect.Encode(req, dialect.Reply{Outcome: o}).Body), "s3cret", id)
	}
}

// Of keys that come twice the last counts, as it does for the agent: the user
// answers the question that it takes itself to have asked.
func TestLastKeyCounts(t *testing.T) {
	for id, call := range map[string]string{
		"opal":    `{"question":"one?","question":"two?","choices":["x"],"choices":["a","b"]}`,
		"copilot": `{"question":"one?","question":"two?","choices":["x"],"choices":["a","b"],"allow_freeform":true}`,
		"cursor":  `{"questions":[{"id":"1","prompt":"one?","prompt":"two?","options":[],"options":[{"id":"1","label":"a"},{"id":"2","label":"b"}]}]}`,
	} {
		req, err := dialect.Decode([]byte(call), id)
		require.NoError(t, err, id)
		require.Equal(t, "two?", req.Call.Questions[0].Text, id)
		require.Equal(t, "b", req.Call.Questions[0].Options[1].Label, id)
	}
}

// FuzzDecode holds every decoder against anything: no panic, and a result for every
// outcome.
func FuzzDecode(f *testing.F) {
	for _, call := range goldenCalls(f, "dialect/*/*", "ask/s*") {
		f.Add(call)
	}
	f.Fuzz(func(t *testing.T, call []byte) {
		for _, id := range dialect.IDs() {
			req, err := dialect.Decode(call, id)
			if err != nil {
				_, _ = dialect.Refuse(call, id, err)
				continue
			}
			require.NotEmpty(t, req.Call.Questions)
			for _, o := range []convert.Outcome{
				{Status: convert.Answered, Answers: firstAnswers(req.Call)},
				{Status: convert.Cancelled}, {Status: convert.Declined}, {Status: convert.Failed, Reason: "no screen"},
			} {
				body := dialect.Encode(req, dialect.Reply{Outcome: o}).Body
				require.True(t, slices.Contains(textResults, id) || json.Valid(body), "%s", body)
			}
			if document, _, err := dialect.ClaudeCall(req.Call); err == nil {
				require.True(t, json.Valid(document), "%s", document)
			}
		}
	})
}

// What no person did is told as an error in every dialect, and never in the words for a
// user's no. A dialect that has no word for it must not borrow that one.
func TestNobodysEndIsNoUsersNo(t *testing.T) {
	words := []string{"cancel", "declin", "dismiss", "skip", "reject"} // of a no, in whatever dialect
	seen := map[string]bool{}
	for _, call := range goldenCalls(t, "*/*", "dialect/*/*") {
		for _, id := range dialect.IDs() {
			req, err := dialect.Decode(call, id)
			if known, _ := dialect.Recognise(call); err != nil || known != id && id != "go" {
				continue
			}
			seen[id] = true
			tell := func(s convert.Status) dialect.Result {
				return dialect.Encode(req, dialect.Reply{Outcome: convert.Outcome{Status: s, Reason: "why it ended"}})
			}
			for s := convert.Answered; s <= convert.Withdrawn; s++ {
				if s.ByPerson() {
					continue
				}
				got := tell(s)
				require.NotEqual(t, tell(convert.Cancelled), got, "%s: %v", id, s)
				require.NotEqual(t, tell(convert.Declined), got, "%s: %v", id, s)
				if id != "pi" || s != convert.Disconnected { // it has connectionLost
					require.True(t, got.IsError, "%s: %v: %s", id, s, got.Body)
					require.Contains(t, string(got.Body), "why it ended", "%s: %v", id, s)
				}
				said := bytes.ToLower(got.Body)
				for _, word := range words {
					require.False(t, strings.Contains(string(said), word) && !bytes.Contains(bytes.ToLower(call), []byte(word)), "%s: %v: %s", id, s, got.Body)
				}
			}
		}
	}
	for _, id := range dialect.IDs() {
		require.True(t, seen[id], "%s has no call in the corpus", id)
	}
}
