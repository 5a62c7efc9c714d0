package client

import (
	"encoding/json"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/conn"
)

func marshal(t *testing.T, v any) json.RawMessage {
	t.Helper()
	return acptest.Must(json.Marshal(v))
}

var (
	database = convert.Question{Text: "Which\ndatabase?", Header: "Database", Options: []convert.Option{
		{Label: "PostgreSQL", Description: "relational - and more"}, {Label: "SQLite"}, {Label: "__other__"}}}
	features = convert.Question{Text: "Which features?", MultiSelect: true, Options: []convert.Option{
		{Label: "Auth", Description: "users"}, {Label: "Logs"}, {Label: "Cache"}}}
	name = convert.Question{Text: "What name?", Header: "Name"}
)

func pick(labels ...string) convert.Answer { return convert.Answer{Selected: labels} }

// What the user answers is what the agent gets, in one request.
func TestQuestionRoundTrip(t *testing.T) {
	for _, tc := range []struct {
		q convert.Question
		a convert.Answer
	}{
		{database, pick("PostgreSQL")},
		{database, pick("__other__")},
		{database, convert.Answer{Text: "DynamoDB"}},
		{database, convert.Answer{Selected: []string{"SQLite"}, Note: "for now"}},
		{features, pick("Auth")},
		{features, pick("Auth", "Cache")},
		{features, convert.Answer{Selected: []string{"Logs"}, Text: "and metrics"}},
		{features, convert.Answer{Text: "none of them"}},
		{name, convert.Answer{Text: "shop"}},
	} {
		asking := ask.New(convert.Call{Session: "s", ID: "t", Questions: []convert.Question{tc.q}}, 0, ask.Options{Aware: true})
		r := acptest.Must(parseRequest(acp.ClientMethodSessionRequestPermission, marshal(t, asking.Request())))
		require.False(t, r.closed)
		require.Equal(t, "t", r.call.ID)
		got := r.call.Questions[0]
		require.Equal(t, tc.q.Text, got.Text)
		require.Equal(t, tc.q.MultiSelect, got.MultiSelect)
		require.Equal(t, tc.q.Options, got.Options)
		reply := acptest.Must(r.reply(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{tc.a}}, -1))
		step := acptest.Must(asking.Reply(acptest.Must(conn.DecodePermission(marshal(t, reply)))))
		require.Equal(t, ask.Done, step)
		require.Equal(t, tc.a.Items(), asking.Answer().Items())
		require.Equal(t, tc.a.Note, asking.Answer().Note)

		reply = acptest.Must(r.reply(convert.Outcome{Status: convert.Cancelled}, -1))
		require.JSONEq(t, `{"outcome":{"outcome":"cancelled"}}`, string(marshal(t, reply)))
	}
}

// A question in rounds, from an agent that does not know us: all picks at once.
func TestQuestionInRounds(t *testing.T) {
	asking := ask.New(convert.Call{ID: "t", Questions: []convert.Question{features}}, 0, ask.Options{})
	step := acptest.Must(asking.Reply(selected("Auth", nil)))
	require.Equal(t, ask.Again, step)
	r := acptest.Must(parseRequest(acp.ClientMethodSessionRequestPermission, marshal(t, asking.Request())))
	require.Equal(t, "Done: Auth", r.call.Questions[0].Options[0].Label)
	reply := acptest.Must(r.reply(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{pick("Logs", "Cache")}}, -1))
	step = acptest.Must(asking.Reply(reply.(acp.RequestPermissionResponse)))
	require.Equal(t, ask.Done, step)
	require.Equal(t, []string{"Auth", "Logs", "Cache"}, asking.Answer().Selected)
}

func TestQuestionWithoutOther(t *testing.T) {
	r := acptest.Must(parseRequest(acp.ClientMethodSessionRequestPermission, json.RawMessage(`{"toolCall":{"toolCallId":"t","title":"Pick"},
		"options":[{"optionId":"a","name":"A","kind":"allow_once"}],"_meta":{"claudeCode":{"questionType":"askUserQuestion"}}}`)))
	require.True(t, r.closed)
	require.Equal(t, "Pick", r.call.Questions[0].Text)
	_, err := r.reply(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Text: "mine"}}}, -1)
	require.EqualError(t, err, "this question accepts only its options")
}

func TestForm(t *testing.T) {
	call := convert.Call{Session: "s", ID: "t", Questions: []convert.Question{database, features, name}}
	r := acptest.Must(parseRequest(acp.ClientMethodElicitationCreate, marshal(t, ask.Form(call))))
	answers := []convert.Answer{pick("PostgreSQL"), {Selected: []string{"Logs"}, Text: "more"}, {Text: "shop"}}
	reply := acptest.Must(r.reply(convert.Outcome{Status: convert.Answered, Answers: answers}, -1))
	outcome := acptest.Must(ask.FormOutcome(call, marshal(t, reply)))
	require.Equal(t, convert.Outcome{Status: convert.Answered, Answers: answers}, outcome)

	r = acptest.Must(parseRequest(acp.ClientMethodElicitationCreate, json.RawMessage(`{"mode":"form","message":"Sure?","requestedSchema":{"type":"object","properties":{"ok":{"type":"boolean"}}}}`)))
	require.True(t, r.closed, "yes or no, nothing else")
	r = acptest.Must(parseRequest(acp.ClientMethodElicitationCreate, json.RawMessage(`{"mode":"form","message":"How many?","requestedSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}`)))
	require.Error(t, acptest.Err(r.reply(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Text: "many"}}}, -1)), "asked again")
}

func TestPermission(t *testing.T) {
	const asks = `{"sessionId":"s","toolCall":{"toolCallId":"t",
		"title":"ls \u001b]0;; rm -rf ~\u0007","content":[{"type":"content","content":{"type":"text","text":"lists files"}}]},
		"options":[{"optionId":"yes","name":"Allow","kind":"allow_once"},{"optionId":"no","name":"Allow","kind":"reject_once"}]}`
	text, _ := shownFor(t, asks)
	require.Equal(t, "ls ␛]0;; rm -rf ~␇\nThe agent says\nlists files", text, "nothing is hidden from who approves")
	r := acptest.Must(parseRequest(acp.ClientMethodSessionRequestPermission, json.RawMessage(asks)))
	require.True(t, r.closed)
	for index, want := range map[int]string{
		0:  `{"outcome":{"outcome":"selected","optionId":"yes"}}`,
		1:  `{"outcome":{"outcome":"selected","optionId":"no"}}`,
		-1: `{"outcome":{"outcome":"cancelled"}}`,
		7:  `{"outcome":{"outcome":"cancelled"}}`,
	} {
		reply := acptest.Must(r.reply(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{pick("Allow")}}, index))
		require.JSONEq(t, want, string(marshal(t, reply)))
	}
}

// A form without fields, and an address, ask for yes or no.
func TestConfirmation(t *testing.T) {
	for params, yes := range map[string]string{
		`{"mode":"form","message":"Sure?","requestedSchema":{"type":"object","properties":{}}}`:             `{"action":"accept","content":{}}`,
		`{"mode":"url","message":"Sure?","url":"https://example.org/","elicitationId":"1","sessionId":"s"}`: `{"action":"accept"}`,
	} {
		r := acptest.Must(parseRequest(acp.ClientMethodElicitationCreate, json.RawMessage(params)))
		require.True(t, r.closed)
		q := r.call.Questions[0]
		require.Contains(t, q.Text, "Sure?")
		if gjson.Get(params, "url").Exists() {
			require.Contains(t, q.Text, "https://example.org/")
		}
		for i, want := range []string{yes, `{"action":"decline"}`} {
			reply := acptest.Must(r.reply(convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{pick(q.Options[i].Label)}}, i))
			require.JSONEq(t, want, string(marshal(t, reply)))
		}
	}
}

// shownFor is what a person is shown of a request for permission, behind updates of a
// session, and which of its lines are those of a diff.
func shownFor(t *testing.T, params string, updates ...string) (text, signs string) {
	t.Helper()
	r := acptest.Must(parseRequest(acp.ClientMethodSessionRequestPermission, json.RawMessage(params)))
	all, a := newTold("/src"), newWaiting(t.Context(), r)
	for _, u := range updates {
		all.update("s", gjson.Parse(u))
	}
	all.asked(a, gjson.Parse(params))
	d := all.described(a)
	return d.here.Questions[0].Text, string(d.signs)
}

// A request may leave it to the tool call before it to say what it is about: one of the
// same session.
func TestBarePermission(t *testing.T) {
	const bare = `{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[{"optionId":"a","name":"Allow","kind":"allow_once"}]}`
	const update = `{"sessionUpdate":"tool_call","toolCallId":"t","title":"rm -r build"}`
	text, _ := shownFor(t, bare)
	require.Equal(t, "Tool call", text)
	text, _ = shownFor(t, bare, update)
	require.Equal(t, "rm -r build", text)
	text, _ = shownFor(t, strings.Replace(bare, `"s"`, `"another"`, 1), update)
	require.Equal(t, "Tool call", text)
}

func TestBadRequests(t *testing.T) {
	for method, params := range map[string]string{
		acp.ClientMethodSessionRequestPermission: `{"options":[]}`,
		acp.ClientMethodElicitationCreate:        `{"mode":"url"}`,
		acp.ClientMethodFsReadTextFile:           `{"path":"/etc/passwd"}`,
	} {
		require.ErrorAs(t, acptest.Err(parseRequest(method, json.RawMessage(params))), new(*acp.RequestError), method)
	}
}

// Whoever approves sees all of it, as it is: no line is left out, be it the
// last, blank, the same as the one before, or made to look like a fence.
func TestPermissionShowsAll(t *testing.T) {
	var command []string
	for i := range 26 {
		command = append(command, "echo "+strings.Repeat("x", i))
	}
	command = append(command, "", "echo", "echo", "rm -rf ~/")
	text := func(call string) (string, string) {
		return shownFor(t, `{"sessionId":"s","toolCall":`+call+`,"options":[{"optionId":"yes","name":"Allow","kind":"allow_once"}]}`)
	}
	content := func(s string) string {
		return `[{"type":"content","content":{"type":"text","text":` + string(marshal(t, s)) + `}}]`
	}
	all := strings.Join(command, "\n")
	got, _ := text(`{"toolCallId":"t","title":"Run it","content":` + content("```sh\n"+all+"\n```") + `}`)
	require.Equal(t, "Run it\nThe agent says\n"+all, got)
	got, _ = text(`{"toolCallId":"t","title":"Run it","content":` + content("echo a\n```\nrm -rf ~/\n```\necho b") + `}`)
	require.Equal(t, "Run it\nThe agent says\necho a\n```\nrm -rf ~/\n```\necho b", got)
	got, _ = text(`{"toolCallId":"t","title":"Run it","content":` + content("```\necho a\n```\nrm -rf ~/\n```\n") + `}`)
	require.Contains(t, got, "rm -rf ~/")
	got, _ = text(`{"toolCallId":"t","title":"make","content":` + content("make") + `}`)
	require.Equal(t, "make", got, "the same twice")

	got, signs := text(`{"toolCallId":"t","title":"Edit a.go","content":[{"type":"diff","path":"/src/a.go","oldText":"one\ntwo\nthree\n","newText":"one\n2\nthree\n"}]}`)
	require.Equal(t, "Edit a.go\na.go +1 −1\n  one\n- two\n+ 2\n  three", got)
	require.Equal(t, "\x00\x00 -+ ", signs)
	got, signs = text(`{"toolCallId":"t","title":"Write a.go","content":[{"type":"diff","path":"/a.go","oldText":null,"newText":` + string(marshal(t, all)) + `}]}`)
	require.Equal(t, "Write a.go\n/a.go 30 lines\n+ "+strings.Join(command, "\n+ "), got)
	require.Equal(t, 30, strings.Count(signs, "+"))

	got, _ = text(`{"toolCallId":"t","title":"Run command","rawInput":{"command":"rm -rf ~/","cwd":"/tmp","background":true}}`)
	require.Equal(t, "Run command\n$ rm -rf ~/\ncwd: /tmp\nbackground: true", got, "an agent that gives the input alone")
	got, _ = text(`{"toolCallId":"t","title":"Look","content":[{"type":"terminal","terminalId":"x"},{"type":"hologram"},{"type":"content","content":{"type":"image","data":"AA==","mimeType":"image/png"}}]}`)
	require.Equal(t, "Look\nThe agent says\n[terminal]\n\n[content that only an editor can show]\n\n[image]", got, "what cannot be drawn is named")
	got, _ = text(`{"toolCallId":"t","title":"$ rm -rf ~/","rawInput":{"command":"rm -rf ~/"}}`)
	require.Equal(t, "$ rm -rf ~/", got)
}

// What a request leaves out, the tool call before it may have said.
func TestPermissionOfShownCall(t *testing.T) {
	text, signs := shownFor(t, `{"sessionId":"s","toolCall":{"toolCallId":"t","title":"Edit a.go"},"options":[{"optionId":"a","name":"Allow","kind":"allow_once"}]}`,
		`{"sessionUpdate":"tool_call","toolCallId":"t","title":"Edit","content":[{"type":"diff","path":"/a.go","oldText":null,"newText":"x\n"}]}`)
	require.Equal(t, "Edit a.go\n/a.go 1 line\n+ x", text)
	require.Equal(t, "\x00\x00+", signs)
}

// What was too much to be kept is not passed over in silence.
func TestPermissionNotAllShown(t *testing.T) {
	text, _ := shownFor(t, `{"sessionId":"s","toolCall":{"toolCallId":"t","title":"Edit a.go"},"options":[{"optionId":"a","name":"Allow","kind":"allow_once"}]}`,
		`{"sessionUpdate":"tool_call","toolCallId":"t","rawInput":{"x":"`+strings.Repeat("x", about.MaxShapes)+`"}}`)
	require.Equal(t, "Edit a.go\nThe agent has shown more of this than is kept: it is not all here.", text)
}
