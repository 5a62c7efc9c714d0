package dialect_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
)

// fixed are dialects that hold but one question, see TestPlanPairs.
var fixed = []string{"grok-plan"}

// textResults are dialects whose results, or some of them, are text.
var textResults = []string{"cline", "codex", "copilot", "crush", "gemini", "go", "opal", "qwen", "roo"}

func anyQuestion() []string {
	return slices.DeleteFunc(dialect.IDs(), func(id string) bool { return slices.Contains(fixed, id) })
}

// words draws texts as people and models write them, on one line.
var words = rapid.OneOf(
	rapid.StringMatching(`[A-Za-zäß]{1,8}( [A-Za-z0-9?]{1,6}){0,3}`),
	rapid.SampledFrom([]string{"a, b", `say "x"`, "1", "Other", "None of the above", "Yes", "- x", "a (note: b)", "{}", "[]", "null", "user_note: x", "Q1: x", "0"}),
)

// held draws a call that two dialects can hold.
func held(t *rapid.T, a, b string) convert.Call {
	c := convert.Call{Session: "s", ID: "id"}
	texts := rapid.SliceOfNDistinct(words, 1, 4, rapid.ID[string]).Draw(t, "questions")
	for i, text := range texts {
		q := convert.Question{
			Text: text, Header: rapid.SampledFrom([]string{"", "Topic"}).Draw(t, fmt.Sprint("header", i)),
			MultiSelect: rapid.Bool().Draw(t, fmt.Sprint("multi", i)),
			Closed:      rapid.Bool().Draw(t, fmt.Sprint("closed", i)),
		}
		for _, l := range rapid.SliceOfNDistinct(words, 2, 4, rapid.ID[string]).Draw(t, fmt.Sprint("options", i)) {
			q.Options = append(q.Options, convert.Option{Label: l, Description: rapid.SampledFrom([]string{"", "why"}).Draw(t, "description"), Preview: rapid.SampledFrom([]string{"", "", "code"}).Draw(t, "preview")})
		}
		if rapid.IntRange(0, 4).Draw(t, "free text") == 0 {
			q = convert.Question{Text: q.Text, Header: q.Header}
		}
		c.Questions = append(c.Questions, q)
	}
	for _, id := range []string{a, b} {
		fit(t, &c, id)
	}
	return c
}

// fit takes away what a dialect cannot hold.
func fit(t *rapid.T, c *convert.Call, id string) {
	if _, _, err := dialect.WriteCall(id, *c); err != nil {
		for i := range c.Questions { // no free text
			if len(c.Questions[i].Options) == 0 {
				c.Questions[i].Options = []convert.Option{{Label: "left"}, {Label: "right"}}
			}
		}
	}
	if _, _, err := dialect.WriteCall(id, *c); err != nil {
		c.Questions = c.Questions[:1]
	}
	for {
		_, lost, err := dialect.WriteCall(id, *c)
		require.NoError(t, err)
		if len(lost) == 0 {
			return
		}
		var i int
		_, err = fmt.Sscanf(lost[0], "question %d:", &i)
		require.NoError(t, err, lost[0])
		q := &c.Questions[i-1]
		switch before := *q; {
		case strings.Contains(lost[0], "header"):
			q.Header = ""
		case strings.Contains(lost[0], "takes one answer"):
			q.MultiSelect = false
		case strings.Contains(lost[0], "accepts own words"), strings.Contains(lost[0], "accepts only"):
			q.Closed = !q.Closed
		case strings.Contains(lost[0], "descriptions"):
			q.Options = slices.Clone(q.Options)
			for j := range q.Options {
				q.Options[j].Description = ""
			}
		case strings.Contains(lost[0], "previews"):
			q.Options = slices.Clone(q.Options)
			for j := range q.Options {
				q.Options[j].Preview = ""
			}
		default:
			require.NotEqual(t, before, *q, lost[0])
		}
	}
}

// replaces are dialects in whose results own words take the place of picks, as
// the document of the Go library says.
var replaces = []string{"go", "langgraph"}

// answersTo draws answers that a person could give; beside says whether own
// words may stand beside picks.
func answersTo(t *rapid.T, c convert.Call, beside bool) []convert.Answer {
	answers := make([]convert.Answer, len(c.Questions))
	for i, q := range c.Questions {
		own := rapid.StringMatching(`[a-z]{3,9}( [a-z]{2,5})?`).Filter(func(s string) bool { return !hasLabel(q, s) }).Draw(t, "own words")
		switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
		case len(q.Options) == 0 || kind == 0 && !q.Closed:
			answers[i].Text = own
		case q.MultiSelect:
			for _, o := range q.Options {
				if rapid.Bool().Draw(t, "picked") {
					answers[i].Selected = append(answers[i].Selected, o.Label)
				}
			}
			if len(answers[i].Selected) == 0 {
				answers[i].Selected = []string{q.Options[0].Label}
			}
			if !q.Closed && beside && kind == 1 {
				answers[i].Text = own
			}
		default:
			answers[i].Selected = []string{rapid.SampledFrom(q.Options).Draw(t, "option").Label}
			if !q.Closed && kind == 1 {
				answers[i].Note = own
			}
		}
	}
	return answers
}

func hasLabel(q convert.Question, s string) bool {
	return slices.ContainsFunc(q.Options, func(o convert.Option) bool { return o.Label == s })
}

// shown are questions without what a dialect adds because its agent asks for it:
// headers, descriptions.
func shown(questions []convert.Question, like []convert.Question) []convert.Question {
	questions = slices.Clone(questions)
	for i, q := range questions {
		if i < len(like) && like[i].Header == "" {
			questions[i].Header = ""
		}
		if len(q.Options) == 0 {
			questions[i].OwnWords = false // there is nothing but
		}
		questions[i].Options = slices.Clone(q.Options)
		for j, o := range q.Options {
			if o.Description == o.Label {
				questions[i].Options[j].Description = ""
			}
		}
	}
	return questions
}

// What two dialects can hold survives the way from one to the other and back:
// the questions there, every answer back, and never one that was not given.
func TestPairs(t *testing.T) {
	fewer(t)
	for _, from := range anyQuestion() {
		for _, to := range anyQuestion() {
			t.Run(from+" to "+to, func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) { checkPair(t, from, to) })
			})
		}
	}
}

// fewer has a property of many pairs checked less often for each, unless the
// command line says how often.
func fewer(t *testing.T) {
	const flagName, often, seldom = "rapid.checks", "100", "10"
	if checks := flag.Lookup(flagName); checks.Value.String() == often {
		require.NoError(t, flag.Set(flagName, seldom))
		t.Cleanup(func() { require.NoError(t, flag.Set(flagName, often)) })
	}
}

func checkPair(t *rapid.T, from, to string) {
	made := held(t, from, to)
	here := written(t, from, made)
	there := written(t, to, here.Call)
	both := made // who takes own words, and who does not, two dialects may not agree on
	both.Questions = slices.Clone(made.Questions)
	for i := range both.Questions {
		q, h, th := &both.Questions[i], &here.Call.Questions[i], &there.Call.Questions[i]
		if h.Closed != th.Closed {
			q.Closed = true
		}
		h.Closed, th.Closed = q.Closed, q.Closed
	}
	require.Equal(t, both.Questions, shown(here.Call.Questions, made.Questions), from)
	require.Equal(t, both.Questions, shown(there.Call.Questions, made.Questions), to)

	outcomes := []convert.Outcome{
		{Status: convert.Answered, Answers: answersTo(t, both, !slices.Contains(replaces, from) && !slices.Contains(replaces, to))},
		{Status: convert.Cancelled, Reason: convert.CancelMessage},
		{Status: convert.Declined, Reason: convert.DeclineMessage},
		{Status: convert.Failed, Reason: "no screen"},
		{Status: convert.Disconnected, Reason: convert.GoneMessage},
	}
	for _, o := range outcomes {
		reply := dialect.Encode(there, dialect.Reply{Outcome: o})
		read, err := dialect.ReadResult(there, reply.Body)
		require.NoError(t, err, "%s: %s", to, reply.Body)
		back := dialect.Encode(here, dialect.Reply{Outcome: read})
		got, err := dialect.ReadResult(here, back.Body)
		require.NoError(t, err, "%s: %s", from, back.Body)
		require.Equal(t, kindOf(o.Status), kindOf(got.Status), "%s: %s\n%s: %s", to, reply.Body, from, back.Body)
		if o.Status == convert.Answered {
			require.Equal(t, o.Answers, got.Answers, "%s: %s\n%s: %s", to, reply.Body, from, back.Body)
		}
	}
}

// What is asked for may be a secret. Whoever asked gets it as it was given, by every way.
func TestSecretsReachWhoAsked(t *testing.T) {
	for _, to := range anyQuestion() {
		for _, options := range [][]convert.Option{nil, {{Label: "A"}, {Label: "B"}}} {
			made := convert.Call{ID: "c1", Questions: []convert.Question{{Text: "Password", Header: "Password", Options: options}}}
			document, _, err := dialect.WriteCall(to, made)
			if err != nil {
				continue // it cannot be asked so
			}
			there, err := dialect.Decode(document, to)
			require.NoError(t, err, to)
			if there.Call.Questions[0].Closed {
				continue
			}
			o := convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Text: "aaa"}}}
			read, err := dialect.ReadResult(there, dialect.Encode(there, dialect.Reply{Outcome: o}).Body)
			require.NoError(t, err, to)
			require.Equal(t, o.Answers, read.Answers, to)
		}
	}
}

// A plan goes to every dialect and back, and from every dialect into a plan. What
// its agent has one word for, a plan to be worked on and the user's no, may
// become the other.
func TestPlanPairs(t *testing.T) {
	plan, err := dialect.Decode([]byte(`{"jsonrpc":"2.0","id":7,"method":"_x.ai/exit_plan_mode","params":{"sessionId":"g1","toolCallId":"c2","planContent":"# Plan"}}`), "grok-plan")
	require.NoError(t, err)
	pick := func(label string) convert.Outcome {
		return convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Selected: []string{label}}}}
	}
	for _, id := range dialect.IDs() {
		there := written(t, id, plan.Call)
		back := written(t, "grok-plan", there.Call)
		require.Equal(t, plan.Call.Questions, back.Call.Questions, id)
		for _, o := range []convert.Outcome{
			pick("Approve"), pick("Leave without plan"),
			{Status: convert.Cancelled, Reason: convert.CancelMessage}, {Status: convert.Failed, Reason: "no screen"},
		} {
			for _, way := range [][2]dialect.Request{{there, plan}, {back, there}} {
				read, err := dialect.ReadResult(way[0], dialect.Encode(way[0], dialect.Reply{Outcome: o}).Body)
				require.NoError(t, err, id)
				body := dialect.Encode(way[1], dialect.Reply{Outcome: read}).Body
				got, err := dialect.ReadResult(way[1], body)
				require.NoError(t, err, id)
				require.Equal(t, kindOf(o.Status), kindOf(got.Status), "%s: %s", id, body)
				require.Equal(t, o.Answers, got.Answers, "%s: %s", id, body)
			}
		}
		read, err := dialect.ReadResult(there, dialect.Encode(there, dialect.Reply{Outcome: pick("Keep planning")}).Body)
		require.NoError(t, err, id)
		require.Contains(t, string(dialect.Encode(plan, dialect.Reply{Outcome: read}).Body), `"outcome":"cancelled"`)
	}
}

// kindOf says whose doing an outcome is. Agents have not always two words for
// the user's no, or for what went wrong.
func kindOf(s convert.Status) string {
	switch s {
	case convert.Answered:
		return "answered"
	case convert.Cancelled, convert.Declined:
		return "the user's no"
	}
	return "failed"
}

// written is a call as it arrives in a dialect.
func written(t require.TestingT, id string, c convert.Call) dialect.Request {
	document, _, err := dialect.WriteCall(id, c)
	require.NoError(t, err)
	req, err := dialect.Decode(document, id)
	require.NoError(t, err, "%s", document)
	return req
}

// fuzzDialect holds a decoder against anything: no panic, a result for every
// outcome, and no answer where there was none.
func fuzzDialect(f *testing.F, id string) {
	for _, call := range goldenCalls(f, "dialect/"+id+"/*", "ask/s*") {
		f.Add(call, []byte(`{"answers":{}}`))
	}
	for _, to := range anyQuestion() {
		req := written(f, to, convert.Call{ID: "c1", Questions: []convert.Question{{Text: "Which?", Header: "H", Options: []convert.Option{{Label: "a"}, {Label: "b"}}, Closed: to == "cursor" || to == "choice"}}})
		document, _, _ := dialect.WriteCall(to, req.Call)
		for _, o := range []convert.Outcome{{Status: convert.Answered, Answers: []convert.Answer{{Selected: []string{"b"}}}}, {Status: convert.Cancelled}} {
			f.Add(document, dialect.Encode(req, dialect.Reply{Outcome: o}).Body)
		}
	}
	f.Fuzz(func(t *testing.T, call, result []byte) {
		req, err := dialect.Decode(call, id)
		if err != nil {
			_, _ = dialect.Refuse(call, id, err)
			return
		}
		require.NotEmpty(t, req.Call.Questions)
		answers := make([]convert.Answer, len(req.Call.Questions))
		for i, q := range req.Call.Questions {
			answers[i].Text = "x"
			if len(q.Options) > 0 {
				answers[i] = convert.Answer{Selected: []string{q.Options[0].Label}}
			}
		}
		for _, o := range []convert.Outcome{{Status: convert.Answered, Answers: answers}, {Status: convert.Cancelled}, {Status: convert.Declined}, {Status: convert.Failed, Reason: "no screen"}} {
			body := dialect.Encode(req, dialect.Reply{Outcome: o}).Body
			require.True(t, slices.Contains(textResults, id) || json.Valid(body), "%s", body)
			if read, err := dialect.ReadResult(req, body); err == nil && o.Status != convert.Answered {
				require.NotEqual(t, convert.Answered, read.Status, "%s", body)
			}
		}
		if o, err := dialect.ReadResult(req, result); err == nil {
			require.NotZero(t, o.Status)
			require.NoError(t, o.Check(req.Call))
		}
		for _, to := range anyQuestion() {
			if document, _, err := dialect.WriteCall(to, req.Call); err == nil {
				require.True(t, json.Valid(document), "%s", document)
			}
		}
	})
}

// goldenCalls are the calls of the corpus whose cases match a pattern.
func goldenCalls(t testing.TB, patterns ...string) (calls [][]byte) {
	for _, pattern := range patterns {
		files, err := filepath.Glob("../../testdata/golden/" + pattern + ".txtar")
		require.NoError(t, err)
		for _, name := range files {
			data, err := os.ReadFile(name)
			require.NoError(t, err)
			for _, section := range txtar.Parse(data).Files {
				if section.Name == "call.json" {
					calls = append(calls, section.Data)
				}
			}
		}
	}
	return calls
}

func FuzzA2A(f *testing.F)       { fuzzDialect(f, "a2a") }
func FuzzAGUI(f *testing.F)      { fuzzDialect(f, "ag-ui") }
func FuzzChoice(f *testing.F)    { fuzzDialect(f, "choice") }
func FuzzClaude(f *testing.F)    { fuzzDialect(f, "claude") }
func FuzzCline(f *testing.F)     { fuzzDialect(f, "cline") }
func FuzzCodex(f *testing.F)     { fuzzDialect(f, "codex") }
func FuzzCopilot(f *testing.F)   { fuzzDialect(f, "copilot") }
func FuzzCrush(f *testing.F)     { fuzzDialect(f, "crush") }
func FuzzCursor(f *testing.F)    { fuzzDialect(f, "cursor") }
func FuzzGemini(f *testing.F)    { fuzzDialect(f, "gemini") }
func FuzzGo(f *testing.F)        { fuzzDialect(f, "go") }
func FuzzGrok(f *testing.F)      { fuzzDialect(f, "grok") }
func FuzzGrokPlan(f *testing.F)  { fuzzDialect(f, "grok-plan") }
func FuzzKimi(f *testing.F)      { fuzzDialect(f, "kimi") }
func FuzzLangGraph(f *testing.F) { fuzzDialect(f, "langgraph") }
func FuzzMCP(f *testing.F)       { fuzzDialect(f, "mcp") }
func FuzzOpal(f *testing.F)      { fuzzDialect(f, "opal") }
func FuzzOpenCode(f *testing.F)  { fuzzDialect(f, "opencode") }
func FuzzPhoenix(f *testing.F)   { fuzzDialect(f, "phoenix") }
func FuzzPi(f *testing.F)        { fuzzDialect(f, "pi") }
func FuzzQwen(f *testing.F)      { fuzzDialect(f, "qwen") }
func FuzzRoo(f *testing.F)       { fuzzDialect(f, "roo") }

// Every dialect has a fuzz target: the list above is complete.
func TestEveryDialectIsFuzzed(t *testing.T) {
	source, err := os.ReadFile("translate_test.go")
	require.NoError(t, err)
	for _, id := range dialect.IDs() {
		require.Contains(t, string(source), fmt.Sprintf("fuzzDialect(f, %q)", id))
	}
}
