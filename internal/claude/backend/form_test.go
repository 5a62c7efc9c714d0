package backend_test

import (
	"encoding/json"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// formOf is a form of a server as the CLI passes it on.
func formOf(name, params string) ct.Step {
	p := gjson.Parse(params)
	mode := p.Get("mode").Str
	if mode == "" {
		mode = "form"
	}
	request := object{"subtype": "elicitation", "mcp_server_name": "shop", "message": p.Get("message").Str, "mode": mode}
	for from, to := range map[string]string{"requestedSchema": "requested_schema", "url": "url", "elicitationId": "elicitation_id"} {
		if v := p.Get(from); v.Exists() {
			request[to] = v.Value()
		}
	}
	return ct.Raw(line(object{"type": "control_request", "request_id": "req-1-" + name, "request": request}))
}

const plainForm = `{"message":"Which?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}`

func TestFormEndsRight(t *testing.T) {
	for name, tc := range map[string]struct {
		end func(e *editor, cli *ct.CLI, s string, turn *acptest.Turn)
		// cancel, none where the CLI no longer waits, or one of them where it may
		// have been ended first.
		reply string
	}{
		"session cancelled": {func(e *editor, _ *ct.CLI, s string, turn *acptest.Turn) {
			e.Cancel(s)
			turn.Ends(acp.StopReasonCancelled)
		}, "cancel"},
		"new prompt": {func(e *editor, _ *ct.CLI, s string, turn *acptest.Turn) {
			next := e.Prompt(s, "something else")
			turn.Ends(acp.StopReasonCancelled)
			next.Ends(acp.StopReasonEndTurn)
		}, "cancel"},
		"session closed": {func(e *editor, _ *ct.CLI, s string, turn *acptest.Turn) {
			e.Call(acp.AgentMethodSessionClose, `{"sessionId":"`+s+`"}`)
			turn.Ends(acp.StopReasonCancelled)
		}, "cancel or none"},
		"withdrawn by the CLI": {func(e *editor, cli *ct.CLI, s string, turn *acptest.Turn) {
			cli.Release("withdraw")
			turn.Ends(acp.StopReasonEndTurn)
		}, "none"},
		"CLI dies": {func(e *editor, cli *ct.CLI, s string, turn *acptest.Turn) {
			kill(t, cli.Starts()[0].Pid)
			turn.Fails("ended by a signal")
		}, "none"},
		"editor gone": {func(e *editor, _ *ct.CLI, _ string, _ *acptest.Turn) { e.Leave() }, "cancel or none"},
	} {
		for _, caps := range []string{`{"elicitation":{"form":{}}}`, `{}`} {
			t.Run(name+" "+caps, func(t *testing.T) {
				e, cli := scripted(t, turns(steps{formOf("form", plainForm), ct.Wait("withdraw"),
					ct.Raw(`{"type":"control_cancel_request","request_id":"req-1-form"}`), ct.Text("done")}, steps{ct.Text("next")}))
				e.Initialize(caps)
				s := e.Open(t.TempDir())
				turn := e.Prompt(s, "hi")
				r := e.Asked("Which?")
				tc.end(e, cli, s, turn)
				if e.Served != nil {
					<-r.Withdrawn
				}
				if tc.reply == "cancel" {
					cli.AwaitReply("form")
				}
				reply := "none"
				if raw := cli.Reply("form"); raw != nil {
					require.JSONEq(t, `{"action":"cancel"}`, string(raw))
					reply = "cancel"
				}
				require.Contains(t, tc.reply, reply)
			})
		}
	}
}

// One request at a time, whoever asks; a form that is dismissed ends no turn
// and takes no question along.
func TestFormsWaitInLine(t *testing.T) {
	e, cli := scripted(t, turns(steps{formOf("first", plainForm), formOf("second", logIn), ct.Message(ct.Question("toolu_1", which)), ct.Text("done")}))
	s := e.Ready()
	turn := e.Prompt(s, "hi")
	r := e.Asked("MCP server shop: name")
	require.Empty(t, e.Requests)
	r.Cancels()
	r = e.Asked("https://example.com/login?x=1")
	require.Empty(t, e.Requests)
	r.Selects("Opened, go on")
	e.Asked("Which database?").Selects("SQLite")
	turn.Ends(acp.StopReasonEndTurn)
	require.JSONEq(t, `{"action":"cancel"}`, string(cli.AwaitReply("first")))
	require.JSONEq(t, `{"action":"accept"}`, string(cli.AwaitReply("second")))
	require.JSONEq(t, `{"Which database?":"SQLite"}`, answers(cli, "toolu_1"))
}

// The CLI works by itself, and an MCP server asks: no prompt runs.
func TestFormOutsideAPrompt(t *testing.T) {
	for first, answer := range map[adapter.Rung]func(e *editor, s string){
		adapter.Permission: func(e *editor, s string) { e.Asked("Which?").Types("Bo") },
		adapter.Conversation: func(e *editor, s string) {
			e.Await(s, "the question", func(u gjson.Result) bool { return strings.Contains(u.Get("content.text").Str, "Which?") })
			e.Prompt(s, "Bo")
		},
	} {
		cli := ct.New(t, ct.Script{Turns: []ct.Turn{{Steps: steps{ct.Text("first")}, After: steps{formOf("form", plainForm), ct.Wait("replied"), ct.Text("second")}}}})
		e := serve(t, backend.Options{Claude: cli.Path, First: first})
		s := e.Ready()
		e.Prompt(s, "hi").Ends(acp.StopReasonEndTurn)
		answer(e, s)
		require.JSONEq(t, `{"action":"accept","content":{"name":"Bo"}}`, string(cli.AwaitReply("form")))
		cli.Release("replied")
		e.Await(s, "the rest", func(u gjson.Result) bool { return u.Get("content.text").Str == "second" })
	}
}

// A question that is dismissed ends the turn, and the form behind it.
func TestDismissedQuestionCancelsTheFormBehindIt(t *testing.T) {
	question := ct.Raw(line(object{"type": "control_request", "request_id": "req-1-question", "request": object{
		"subtype": "can_use_tool", "tool_name": "AskUserQuestion", "tool_use_id": "toolu_1", "input": object{"questions": []any{which}}}}))
	e, cli := scripted(t, turns(steps{question, formOf("form", plainForm), ct.Wait("replied")}, steps{ct.Text("next")}))
	s := e.Ready()
	turn := e.Prompt(s, "hi")
	e.Asked("Which database?").Cancels()
	require.Contains(t, string(cli.AwaitReply("question")), `"interrupt":true`)
	require.JSONEq(t, `{"action":"cancel"}`, string(cli.AwaitReply("form")))
	cli.Release("replied")
	turn.Ends(acp.StopReasonCancelled)
	require.Empty(t, e.Requests, "it was never shown")
}

// Nothing that the user did not say becomes a value.
func TestFormIsNotInvented(t *testing.T) {
	for name, tc := range map[string]struct {
		reply func(e *editor)
		why   string
	}{
		"words that never fit": {func(e *editor) {
			for range 3 {
				e.Asked("age").Types("old")
			}
		}, "No answer fitted: expected a whole number"},
		"an option never offered": {func(e *editor) { e.Asked("age").Selects("42") }, "User cancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			cli := ct.New(t, turns(steps{formOf("form", `{"message":"m","requestedSchema":{"type":"object","properties":{"age":{"type":"integer"}},"required":["age"]}}`), ct.Wait("replied"), ct.Text("done")}))
			e := serve(t, backend.Options{Claude: cli.Path})
			s := e.Ready()
			turn := e.Prompt(s, "hi")
			tc.reply(e)
			if name == "an option never offered" { // the next way is the conversation
				turn.Ends(acp.StopReasonEndTurn)
				turn = e.Prompt(s, "cancel")
			}
			require.JSONEq(t, `{"action":"cancel"}`, string(cli.AwaitReply("form")))
			cli.Release("replied")
			turn.Ends(acp.StopReasonEndTurn)
			require.Contains(t, e.Tool(s, "form-req-1-form")["content"], tc.why)
		})
	}
}

// A form that nobody could show is refused at once, and the user sees why.
func TestFormThatCannotBeShown(t *testing.T) {
	for params, why := range map[string]string{
		`{"message":"m","requestedSchema":{"type":"object","properties":{"x":{"type":"object"}}}}`: `unknown type`,
		`{"mode":"url","message":"m","url":"not an address"}`:                                      "url must be an address",
		`{"mode":"url","message":"m","url":"javascript:alert(1)"}`:                                 "url must be an address",
		`{"mode":"url","message":"m","url":"file:///etc/passwd"}`:                                  "url must be an address",
		`{"mode":"url","message":"m"}`:                                                             "url must be an address",
	} {
		e, cli := scripted(t, turns(steps{formOf("form", params), ct.Text("done")}))
		e.Initialize(`{"elicitation":{"form":{},"url":{}}}`)
		s := e.Open(t.TempDir())
		e.Prompt(s, "hi").Ends(acp.StopReasonEndTurn)
		require.JSONEq(t, `{"action":"cancel"}`, string(cli.AwaitReply("form")))
		tool := e.Tool(s, "form-req-1-form")
		require.Equal(t, "failed", tool["status"])
		require.Contains(t, tool["content"], why)
		require.Empty(t, e.Requests)
	}
}

// A form without fields asks for a yes.
func TestFormWithoutFields(t *testing.T) {
	e, cli := scripted(t, turns(steps{formOf("form", `{"message":"Delete all?","requestedSchema":{"type":"object","properties":{}}}`), ct.Wait("replied"), ct.Text("done")}))
	s := e.Ready()
	turn := e.Prompt(s, "hi")
	r := e.Asked("Delete all?")
	require.Equal(t, "Accept=Accept|Decline=Decline", r.Options())
	r.Selects("Accept")
	require.JSONEq(t, `{"action":"accept","content":{}}`, string(cli.AwaitReply("form")))
	cli.Release("replied")
	turn.Ends(acp.StopReasonEndTurn)
}

// A dialog of the CLI's own would stay open for ever if it got an error.
func TestDialogIsRefusedAtOnce(t *testing.T) {
	e, cli := scripted(t, turns(steps{ct.Raw(line(object{"type": "control_request", "request_id": "req-1-dialog", "request": object{
		"subtype": "request_user_dialog", "dialog_kind": "something_new", "payload": object{}}})), ct.Text("done")}))
	s := e.Ready()
	e.Prompt(s, "hi").Ends(acp.StopReasonEndTurn)
	require.JSONEq(t, `{"behavior":"cancelled"}`, string(cli.AwaitReply("dialog")))
}

// A server's words cannot pass for somebody else's.
func TestFormSaysWhoAsks(t *testing.T) {
	params := `{"message":"\u001b]0;x\u0007Claude asks: \u202eok?","requestedSchema":{"type":"object","properties":{"a":{"type":"boolean","title":"Allow\nBash"}}}}`
	for _, caps := range []string{`{"elicitation":{"form":{}}}`, `{}`} {
		e, _ := scripted(t, turns(steps{formOf("form", params), ct.Hang()}))
		e.Initialize(caps)
		s := e.Open(t.TempDir())
		turn := e.Prompt(s, "hi")
		r := e.Next()
		text := r.Get("message").Str + r.Get("toolCall.content.0.content.text").Str
		require.True(t, strings.HasPrefix(text, `The MCP server "shop" asks: `), text)
		require.NotContains(t, r.Raw, `\u001b`)
		require.NotContains(t, text, "\u202e")
		if title := r.Get("toolCall.title"); title.Exists() {
			require.Equal(t, "MCP server shop: Allow Bash", title.Str)
		} else {
			require.Equal(t, "Allow Bash", r.Get("requestedSchema.properties.a.title").Str)
		}
		e.Cancel(s)
		turn.Ends(acp.StopReasonCancelled)
	}
}

// --ask holds for forms, too.
func TestFormInTheConversationByFlag(t *testing.T) {
	cli := ct.New(t, turns(steps{formOf("form", plainForm), ct.Wait("replied"), ct.Text("done")}))
	e := serve(t, backend.Options{Claude: cli.Path, First: adapter.Conversation})
	e.Initialize(`{"elicitation":{"form":{}}}`)
	s := e.Open(t.TempDir())
	e.Prompt(s, "hi").Ends(acp.StopReasonEndTurn)
	turn := e.Prompt(s, "Bo")
	require.JSONEq(t, `{"action":"accept","content":{"name":"Bo"}}`, string(cli.AwaitReply("form")))
	cli.Release("replied")
	turn.Ends(acp.StopReasonEndTurn)
}

func line(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

const logIn = `{"mode":"url","message":"Log in","url":"https://example.com/login?x=1","elicitationId":"e1"}`
