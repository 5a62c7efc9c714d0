package agent_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/agent"
	"github.com/acp-bridge/acp-bridge/adapter/claude/apitest"
	ct "github.com/acp-bridge/acp-bridge/adapter/claude/claudetest"
)

// signUp has a field of each kind.
const signUp = `{"message":"Who are you?","requestedSchema":{"type":"object","properties":{
	"name":{"type":"string","title":"Name","description":"as on your badge","minLength":2},
	"age":{"type":"integer","minimum":1,"maximum":150},
	"mail":{"type":"string","format":"email"},
	"news":{"type":"boolean","title":"Newsletter","default":false},
	"size":{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}],"default":"l"},
	"days":{"type":"array","items":{"anyOf":[{"const":"mo","title":"Monday"},{"const":"tu","title":"Tuesday"}]},"minItems":1}},
	"required":["name","age","days"]}}`

const logIn = `{"mode":"url","message":"Log in","url":"https://example.com/login?x=1","elicitationId":"e1"}`

// elicits runs a prompt in which the real CLI's model calls the tool of an MCP
// server that asks the user. File is what the server waits for.
func elicits(t *testing.T, caps, name, params, then string) (e *editor, s string, turn *turn, received func() string, file string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	e, api := real(t, apitest.Use(apitest.ToolUse("toolu_1", "mcp__shop__form", object{"params": params, "then": then})), apitest.Say("done"))
	e.initializeAs(name, caps)
	file = filepath.Join(t.TempDir(), "go")
	s = e.call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[{"name":"shop","command":%q,"args":[],"env":[{"name":%q,"value":%q}]}]}`,
		t.TempDir(), self, mcpVariable, file)).Get("sessionId").Str
	turn = e.prompt(s, "hi")
	e.asked("shop: form").selects("allow")
	return e, s, turn, func() string { return told(t, api, "toolu_1").Text }, file
}

func TestRealFormOfAServer(t *testing.T) {
	e, s, turn, received, _ := elicits(t, `{"elicitation":{"form":{}}}`, "any", signUp, "")
	r := e.asked("requestedSchema")
	require.Equal(t, acp.ClientMethodElicitationCreate, r.method)
	require.Equal(t, `The MCP server "shop" asks: Who are you?`, r.Get("message").Str)
	require.Equal(t, s, r.Get("sessionId").Str)
	require.JSONEq(t, gjson.Get(signUp, "requestedSchema").Raw, r.Get("requestedSchema").Raw, "as the server wrote it")
	require.Equal(t, []string{"name", "age", "mail", "news", "size", "days"}, keys(r.Get("requestedSchema.properties")))

	// The editor does not know the limits: the form comes again, and says why.
	r.answer <- object{"action": "accept", "content": object{"name": "X", "age": 44, "days": []string{"mo"}}}
	r = e.asked("expected a text with at least 2 characters")
	r.answer <- object{"action": "accept", "content": object{"name": "Bo", "age": 44, "days": []string{"tu", "mo"}, "mail": nil, "news": true, "extra": 1}}
	turn.ends(acp.StopReasonEndTurn)
	require.JSONEq(t, `{"action":"accept","content":{"name":"Bo","age":44,"days":["tu","mo"],"news":true}}`, received())
	tool := e.tool(s, r.Get("toolCallId").Str)
	require.Equal(t, "completed", tool["status"])
	require.Equal(t, "form", tool["rung"])
	require.Contains(t, tool["content"], "MCP server shop: Newsletter → Yes")
}

func keys(v gjson.Result) (list []string) {
	v.ForEach(func(k, _ gjson.Result) bool {
		list = append(list, k.Str)
		return true
	})
	return list
}

// An editor without forms gets a request for each field.
func TestRealFormInRequests(t *testing.T) {
	e, s, turn, received, _ := elicits(t, `{}`, "any", signUp, "")
	r := e.asked("MCP server shop: Name")
	require.Equal(t, "The MCP server \"shop\" asks: Who are you?\n\nName: as on your badge (a text with at least 2 characters)", r.Get("toolCall.content.0.content.text").Str)
	require.Equal(t, "shop", r.Get("_meta.acp-bridge.mcpServer").Str)
	require.Equal(t, "other", r.Get("toolCall.kind").Str)
	require.Equal(t, "Decline=Decline - do not answer the server|__other__=Other (type custom answer)", r.options())
	r.types("Bo")
	e.asked("age (a whole number from 1 to 150)").types("old")
	e.asked(`expected a whole number from 1 to 150, got \"old\"`).types("200")
	e.asked(`expected a whole number from 1 to 150, got 200`).types("44")
	e.asked("mail (an e-mail address)").selects("Skip")
	require.Equal(t, "Yes=Yes|No=No - default|Skip=Skip - leave this field empty|Decline=Decline - do not answer the server", e.picks("Newsletter", "No"))
	e.picks("size", "Large")
	require.NotContains(t, e.picks("days", "Tuesday"), "Skip", "it is required")
	e.picks("Done: Tuesday", "__done__")
	turn.ends(acp.StopReasonEndTurn)
	require.JSONEq(t, `{"action":"accept","content":{"name":"Bo","age":44,"news":false,"size":"l","days":["tu"]}}`, received())
	require.Contains(t, e.tool(s, r.Get("toolCall.toolCallId").Str+":3")["content"], "MCP server shop: mail → (not answered)")
}

// picks answers a request and returns the options that it had.
func (e *editor) picks(text, id string) string {
	e.t.Helper()
	r := e.asked(text)
	r.selects(id)
	return r.options()
}

// And one that shows no options, in the conversation: numbers are values where
// a number is asked for.
func TestRealFormInTheConversation(t *testing.T) {
	e, s, turn, received, _ := elicits(t, `{}`, "CodeCompanion.nvim", signUp, "")
	for _, words := range []string{"Bo", "2", "skip", "2", "large", "1,2"} {
		turn.ends(acp.StopReasonEndTurn)
		require.Contains(t, turn.resp.Get("_meta.acp-bridge.waitingFor").Str, "form-")
		turn = e.prompt(s, words)
	}
	turn.ends(acp.StopReasonEndTurn)
	require.JSONEq(t, `{"action":"accept","content":{"name":"Bo","age":2,"news":false,"size":"l","days":["mo","tu"]}}`, received())
	require.Contains(t, e.said(s), `The MCP server "shop" asks: Who are you?`)
	require.Contains(t, e.said(s), "- Skip - leave this field empty")
	require.Contains(t, e.said(s), "done")
}

// What is no accept is one nowhere, and the turn goes on: the server's tool
// hears of it and nothing else does.
func TestRealFormRefused(t *testing.T) {
	const one = `{"message":"Sure?","requestedSchema":{"type":"object","properties":{"sure":{"type":"boolean"}}}}`
	for name, tc := range map[string]struct {
		caps, client, want string
		act                func(e *editor, s string, t *turn) *turn
	}{
		"form, decline": {`{"elicitation":{"form":{}}}`, "any", "decline", func(e *editor, _ string, t *turn) *turn {
			e.asked("Sure?").answer <- object{"action": "decline"}
			return t
		}},
		"form, cancel": {`{"elicitation":{"form":{}}}`, "any", "cancel", func(e *editor, _ string, t *turn) *turn {
			e.asked("Sure?").answer <- object{"action": "cancel"}
			return t
		}},
		"form of wrong types, then dismissed": {`{"elicitation":{"form":{}}}`, "any", "cancel", func(e *editor, _ string, t *turn) *turn {
			e.asked("requestedSchema").answer <- object{"action": "accept", "content": object{"sure": "yes"}}
			e.asked("options").cancels()
			return t
		}},
		"permission, decline": {`{}`, "any", "decline", func(e *editor, _ string, t *turn) *turn {
			e.asked("Sure?").selects("Decline")
			return t
		}},
		"permission, dismissed": {`{}`, "any", "cancel", func(e *editor, _ string, t *turn) *turn {
			e.asked("Sure?").cancels()
			return t
		}},
		"message, decline": {`{}`, "CodeCompanion.nvim", "decline", func(e *editor, s string, t *turn) *turn {
			t.ends(acp.StopReasonEndTurn)
			return e.prompt(s, "decline")
		}},
		"message, cancel": {`{}`, "CodeCompanion.nvim", "cancel", func(e *editor, s string, t *turn) *turn {
			t.ends(acp.StopReasonEndTurn)
			return e.prompt(s, "cancel")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			e, s, turn, received, _ := elicits(t, tc.caps, tc.client, one, "")
			tc.act(e, s, turn).ends(acp.StopReasonEndTurn)
			require.JSONEq(t, `{"action":"`+tc.want+`"}`, received())
			require.Contains(t, e.said(s), "done")
		})
	}
}

func TestRealAddressOfAServer(t *testing.T) {
	e, _, turn, received, _ := elicits(t, `{"elicitation":{"url":{}}}`, "any", logIn, "complete")
	r := e.asked("https://example.com/login?x=1")
	require.Equal(t, "url", r.Get("mode").Str)
	require.Equal(t, "e1", r.Get("elicitationId").Str)
	require.Contains(t, r.Get("message").Str, "shop")
	r.answer <- object{"action": "accept"}
	turn.ends(acp.StopReasonEndTurn)
	require.JSONEq(t, `{"action":"accept"}`, received())
	require.JSONEq(t, `{"elicitationId":"e1"}`, (<-e.completed).Raw)
}

// A tool that fails until the user has been somewhere is called again after.
func TestRealAddressThatIsRequired(t *testing.T) {
	e, _, turn, received, file := elicits(t, `{}`, "any", logIn, "call again")
	e.asked("https://example.com/login?x=1").selects("Opened, go on")
	turn.ends(acp.StopReasonEndTurn)
	require.Contains(t, received(), file, "the result of the second call")
}

// Without elicitation.url the address is shown, and opened by nobody but the
// user.
func TestRealAddressAsARequest(t *testing.T) {
	for id, want := range map[string]string{"Opened, go on": "accept", "Decline": "decline"} {
		e, _, turn, received, _ := elicits(t, `{"elicitation":{"form":{}}}`, "any", logIn, "")
		r := e.asked("MCP server shop")
		require.Equal(t, "The MCP server \"shop\" asks: Log in\n\nIt wants you to open this address in a browser:\nhttps://example.com/login?x=1\n(on the host example.com)", r.Get("toolCall.content.0.content.text").Str)
		require.Equal(t, "Opened, go on=Opened, go on|Decline=Decline", r.options())
		r.selects(id)
		turn.ends(acp.StopReasonEndTurn)
		require.JSONEq(t, `{"action":"`+want+`"}`, received())
	}
}

// The server changes its mind, or ends, while its form is open.
func TestRealServerGivesUp(t *testing.T) {
	for _, then := range []string{"withdraw", "end"} {
		t.Run(then, func(t *testing.T) {
			e, s, turn, _, file := elicits(t, `{"elicitation":{"form":{}}}`, "any", signUp, then)
			r := e.asked("requestedSchema")
			require.NoError(t, os.WriteFile(file, nil, 0o600))
			<-r.withdrawn
			if then == "withdraw" { // the tool itself never answers
				e.cancel(s)
				turn.ends(acp.StopReasonCancelled)
			} else {
				turn.ends(acp.StopReasonEndTurn)
			}
			require.Equal(t, "failed", e.tool(s, r.Get("toolCallId").Str)["status"])
		})
	}
}

// The scripted CLI: what goes wrong between the server and the user.

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
		end func(e *editor, cli *ct.CLI, s string, turn *turn)
		// cancel, none where the CLI no longer waits, or one of them where it may
		// have been ended first.
		reply string
	}{
		"session cancelled": {func(e *editor, _ *ct.CLI, s string, turn *turn) {
			e.cancel(s)
			turn.ends(acp.StopReasonCancelled)
		}, "cancel"},
		"new prompt": {func(e *editor, _ *ct.CLI, s string, turn *turn) {
			next := e.prompt(s, "something else")
			turn.ends(acp.StopReasonCancelled)
			next.ends(acp.StopReasonEndTurn)
		}, "cancel"},
		"session closed": {func(e *editor, _ *ct.CLI, s string, turn *turn) {
			e.call(acp.AgentMethodSessionClose, `{"sessionId":"`+s+`"}`)
			turn.ends(acp.StopReasonCancelled)
		}, "cancel or none"},
		"withdrawn by the CLI": {func(e *editor, cli *ct.CLI, s string, turn *turn) {
			cli.Release("withdraw")
			turn.ends(acp.StopReasonEndTurn)
		}, "none"},
		"CLI dies": {func(e *editor, cli *ct.CLI, s string, turn *turn) {
			require.NoError(t, syscall.Kill(cli.Starts()[0].Pid, syscall.SIGKILL))
			turn.fails("ended by a signal")
		}, "none"},
		"editor gone": {func(e *editor, _ *ct.CLI, _ string, _ *turn) { e.leave() }, "cancel or none"},
	} {
		for _, caps := range []string{`{"elicitation":{"form":{}}}`, `{}`} {
			t.Run(name+" "+caps, func(t *testing.T) {
				e, cli := scripted(t, turns(steps{formOf("form", plainForm), ct.Wait("withdraw"),
					ct.Raw(`{"type":"control_cancel_request","request_id":"req-1-form"}`), ct.Text("done")}, steps{ct.Text("next")}))
				e.initialize(caps)
				s := e.open(t.TempDir())
				turn := e.prompt(s, "hi")
				r := e.asked("Which?")
				tc.end(e, cli, s, turn)
				if e.served != nil {
					<-r.withdrawn
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
	s := e.ready()
	turn := e.prompt(s, "hi")
	r := e.asked("MCP server shop: name")
	require.Empty(t, e.requests)
	r.cancels()
	r = e.asked("https://example.com/login?x=1")
	require.Empty(t, e.requests)
	r.selects("Opened, go on")
	e.asked("Which database?").selects("SQLite")
	turn.ends(acp.StopReasonEndTurn)
	require.JSONEq(t, `{"action":"cancel"}`, string(cli.AwaitReply("first")))
	require.JSONEq(t, `{"action":"accept"}`, string(cli.AwaitReply("second")))
	require.JSONEq(t, `{"Which database?":"SQLite"}`, answers(cli, "toolu_1"))
}

// The CLI works by itself, and an MCP server asks: no prompt runs.
func TestFormOutsideAPrompt(t *testing.T) {
	for first, answer := range map[adapter.Rung]func(e *editor, s string){
		adapter.Permission: func(e *editor, s string) { e.asked("Which?").types("Bo") },
		adapter.Conversation: func(e *editor, s string) {
			e.await(s, "the question", func(u gjson.Result) bool { return strings.Contains(u.Get("content.text").Str, "Which?") })
			e.prompt(s, "Bo")
		},
	} {
		cli := ct.New(t, ct.Script{Turns: []ct.Turn{{Steps: steps{ct.Text("first")}, After: steps{formOf("form", plainForm), ct.Wait("replied"), ct.Text("second")}}}})
		e := serve(t, agent.Options{Claude: cli.Path, First: first})
		s := e.ready()
		e.prompt(s, "hi").ends(acp.StopReasonEndTurn)
		answer(e, s)
		require.JSONEq(t, `{"action":"accept","content":{"name":"Bo"}}`, string(cli.AwaitReply("form")))
		cli.Release("replied")
		e.await(s, "the rest", func(u gjson.Result) bool { return u.Get("content.text").Str == "second" })
	}
}

// A question that is dismissed ends the turn, and the form behind it.
func TestDismissedQuestionCancelsTheFormBehindIt(t *testing.T) {
	question := ct.Raw(line(object{"type": "control_request", "request_id": "req-1-question", "request": object{
		"subtype": "can_use_tool", "tool_name": "AskUserQuestion", "tool_use_id": "toolu_1", "input": object{"questions": []any{which}}}}))
	e, cli := scripted(t, turns(steps{question, formOf("form", plainForm), ct.Wait("replied")}, steps{ct.Text("next")}))
	s := e.ready()
	turn := e.prompt(s, "hi")
	e.asked("Which database?").cancels()
	require.Contains(t, string(cli.AwaitReply("question")), `"interrupt":true`)
	require.JSONEq(t, `{"action":"cancel"}`, string(cli.AwaitReply("form")))
	cli.Release("replied")
	turn.ends(acp.StopReasonCancelled)
	require.Empty(t, e.requests, "it was never shown")
}

// Nothing that the user did not say becomes a value.
func TestFormIsNotInvented(t *testing.T) {
	for name, tc := range map[string]struct {
		reply func(e *editor)
		why   string
	}{
		"words that never fit": {func(e *editor) {
			for range 3 {
				e.asked("age").types("old")
			}
		}, "No answer fitted: expected a whole number"},
		"an option never offered": {func(e *editor) { e.asked("age").selects("42") }, "User cancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			cli := ct.New(t, turns(steps{formOf("form", `{"message":"m","requestedSchema":{"type":"object","properties":{"age":{"type":"integer"}},"required":["age"]}}`), ct.Wait("replied"), ct.Text("done")}))
			e := serve(t, agent.Options{Claude: cli.Path})
			s := e.ready()
			turn := e.prompt(s, "hi")
			tc.reply(e)
			if name == "an option never offered" { // the next way is the conversation
				turn.ends(acp.StopReasonEndTurn)
				turn = e.prompt(s, "cancel")
			}
			require.JSONEq(t, `{"action":"cancel"}`, string(cli.AwaitReply("form")))
			cli.Release("replied")
			turn.ends(acp.StopReasonEndTurn)
			require.Contains(t, e.tool(s, "form-req-1-form")["content"], tc.why)
		})
	}
}

// A form that nobody could show is refused at once, and the user sees why.
func TestFormThatCannotBeShown(t *testing.T) {
	for params, why := range map[string]string{
		`{"message":"m","requestedSchema":{"type":"object","properties":{"x":{"type":"object"}}}}`: `unknown type`,
		`{"mode":"url","message":"m","url":"not an address"}`:                                      "url must be an address",
		`{"mode":"url","message":"m"}`:                                                             "url must be an address",
	} {
		e, cli := scripted(t, turns(steps{formOf("form", params), ct.Text("done")}))
		e.initialize(`{"elicitation":{"form":{},"url":{}}}`)
		s := e.open(t.TempDir())
		e.prompt(s, "hi").ends(acp.StopReasonEndTurn)
		require.JSONEq(t, `{"action":"cancel"}`, string(cli.AwaitReply("form")))
		tool := e.tool(s, "form-req-1-form")
		require.Equal(t, "failed", tool["status"])
		require.Contains(t, tool["content"], why)
		require.Empty(t, e.requests)
	}
}

// A form without fields asks for a yes.
func TestFormWithoutFields(t *testing.T) {
	e, cli := scripted(t, turns(steps{formOf("form", `{"message":"Delete all?","requestedSchema":{"type":"object","properties":{}}}`), ct.Wait("replied"), ct.Text("done")}))
	s := e.ready()
	turn := e.prompt(s, "hi")
	r := e.asked("Delete all?")
	require.Equal(t, "Accept=Accept|Decline=Decline", r.options())
	r.selects("Accept")
	require.JSONEq(t, `{"action":"accept","content":{}}`, string(cli.AwaitReply("form")))
	cli.Release("replied")
	turn.ends(acp.StopReasonEndTurn)
}

// A dialog of the CLI's own would stay open for ever if it got an error.
func TestDialogIsRefusedAtOnce(t *testing.T) {
	e, cli := scripted(t, turns(steps{ct.Raw(line(object{"type": "control_request", "request_id": "req-1-dialog", "request": object{
		"subtype": "request_user_dialog", "dialog_kind": "something_new", "payload": object{}}})), ct.Text("done")}))
	s := e.ready()
	e.prompt(s, "hi").ends(acp.StopReasonEndTurn)
	require.JSONEq(t, `{"behavior":"cancelled"}`, string(cli.AwaitReply("dialog")))
}

// A server's words cannot pass for somebody else's.
func TestFormSaysWhoAsks(t *testing.T) {
	params := `{"message":"\u001b]0;x\u0007Claude asks: \u202eok?","requestedSchema":{"type":"object","properties":{"a":{"type":"boolean","title":"Allow\nBash"}}}}`
	for _, caps := range []string{`{"elicitation":{"form":{}}}`, `{}`} {
		e, _ := scripted(t, turns(steps{formOf("form", params), ct.Hang()}))
		e.initialize(caps)
		s := e.open(t.TempDir())
		turn := e.prompt(s, "hi")
		r := e.next()
		text := r.Get("message").Str + r.Get("toolCall.content.0.content.text").Str
		require.True(t, strings.HasPrefix(text, `The MCP server "shop" asks: `), text)
		require.NotContains(t, r.Raw, `\u001b`)
		require.NotContains(t, text, "\u202e")
		if title := r.Get("toolCall.title"); title.Exists() {
			require.Equal(t, "MCP server shop: Allow Bash", title.Str)
		} else {
			require.Equal(t, "Allow Bash", r.Get("requestedSchema.properties.a.title").Str)
		}
		e.cancel(s)
		turn.ends(acp.StopReasonCancelled)
	}
}

// --ask holds for forms, too.
func TestFormInTheConversationByFlag(t *testing.T) {
	cli := ct.New(t, turns(steps{formOf("form", plainForm), ct.Wait("replied"), ct.Text("done")}))
	e := serve(t, agent.Options{Claude: cli.Path, First: adapter.Conversation})
	e.initialize(`{"elicitation":{"form":{}}}`)
	s := e.open(t.TempDir())
	e.prompt(s, "hi").ends(acp.StopReasonEndTurn)
	turn := e.prompt(s, "Bo")
	require.JSONEq(t, `{"action":"accept","content":{"name":"Bo"}}`, string(cli.AwaitReply("form")))
	cli.Release("replied")
	turn.ends(acp.StopReasonEndTurn)
}

func line(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
