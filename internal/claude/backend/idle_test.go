package backend_test

import (
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// asksLater is a request of the CLI that is not waited for: what comes behind it
// in the script comes at once. A sub-agent's outlives the turn.
func asksLater(id, tool string, input object, subAgent bool) ct.Step {
	request := object{"subtype": "can_use_tool", "tool_name": tool, "tool_use_id": id, "input": input}
	if subAgent {
		request["agent_id"] = "agent-1"
	}
	return ct.Raw(line(object{"type": "control_request", "request_id": "req-1-" + id, "request": request}))
}

// endsTurn is a result: what comes behind it comes while no turn runs.
const endsTurn = `{"type":"result","subtype":"success","is_error":false,"result":"","stop_reason":"end_turn"}`

// idle is what can be open while no turn runs.
var idle = map[string]struct {
	step  ct.Step
	shown string // in the editor, or in the conversation
	no    string // what the CLI is told when nobody answers
	words bool   // it is asked in the conversation, where that comes first
}{
	"a sub-agent's question":   {asksLater("open", "AskUserQuestion", object{"questions": qs(which)}, true), "Which database?", `"interrupt":true`, true},
	"a sub-agent's permission": {asksLater("open", "Bash", object{"command": "ls /srv"}, true), "ls /srv", `"behavior":"deny"`, false},
	"a form":                   {formOf("open", plainForm), "Which?", `"action":"cancel"`, true},
}

// idling opens a session in which something is asked while no turn runs. The
// request is nil if it stands in the conversation.
func idling(t *testing.T, step ct.Step, shown string, words bool, rung adapter.Rung) (*editor, *ct.CLI, string, *acptest.Request) {
	cli := ct.New(t, turns(steps{ct.Text("First."), ct.Raw(endsTurn), step, ct.Wait("on")}, steps{ct.Text("Next.")}))
	e := serve(t, backend.Options{Claude: cli.Path, First: rung})
	s := e.Ready()
	e.Prompt(s, "hi").Ends(acp.StopReasonEndTurn)
	if words && rung == adapter.Conversation {
		e.Await(s, "the question", func(u gjson.Result) bool { return strings.Contains(u.Get("content.text").Str, shown) })
		return e, cli, s, nil
	}
	return e, cli, s, e.Asked(shown)
}

// eachIdle runs a test for all that can be open while no turn runs, on both rungs.
func eachIdle(t *testing.T, test func(t *testing.T, e *editor, cli *ct.CLI, s string, r *acptest.Request, no string)) {
	for name, open := range idle {
		for _, rung := range []adapter.Rung{adapter.Permission, adapter.Conversation} {
			t.Run(name+", "+rung.String(), func(t *testing.T) {
				e, cli, s, r := idling(t, open.step, open.shown, open.words, rung)
				test(t, e, cli, s, r, open.no)
			})
		}
	}
}

// session/cancel withdraws what is open while no turn runs, and the next prompt
// is no answer to it.
func TestCancelWhileIdle(t *testing.T) {
	t.Parallel()
	eachIdle(t, func(t *testing.T, e *editor, cli *ct.CLI, s string, r *acptest.Request, no string) {
		e.Cancel(s)
		if r != nil {
			<-r.Withdrawn
		}
		require.Contains(t, string(cli.AwaitReply("open")), no)
		cli.Release("on")
		e.Prompt(s, "2").Ends(acp.StopReasonEndTurn)
		require.Equal(t, []string{"hi", "2"}, cli.Prompts(), "an ordinary prompt")
		require.True(t, strings.HasSuffix(e.Said(s), "Next."), e.Said(s))
		require.Contains(t, string(cli.Reply("open")), no)
	})
}

// A prompt takes the place of what the editor shows while no turn runs. What
// stands in the conversation it answers.
func TestPromptWhileIdle(t *testing.T) {
	t.Parallel()
	eachIdle(t, func(t *testing.T, e *editor, cli *ct.CLI, s string, r *acptest.Request, no string) {
		if r == nil {
			answer := e.Prompt(s, "2")
			require.Regexp(t, `"behavior":"allow"|"action":"accept"`, string(cli.AwaitReply("open")))
			answer.Ends(acp.StopReasonEndTurn)
			require.Equal(t, []string{"hi"}, cli.Prompts(), "an answer is not a prompt")
			return
		}
		next := e.Prompt(s, "2")
		<-r.Withdrawn
		require.Contains(t, string(cli.AwaitReply("open")), no)
		cli.Release("on")
		next.Ends(acp.StopReasonEndTurn)
		require.Equal(t, []string{"hi", "2"}, cli.Prompts())
		reply := strings.Index(record(cli), "req-1-open")
		require.Less(t, reply, strings.LastIndex(record(cli), `"type":"user"`), "the CLI knows before it gets the prompt")
	})
}

// record is what the CLI got, in order.
func record(cli *ct.CLI) string {
	var b strings.Builder
	for _, l := range cli.Lines() {
		b.Write(l.Raw)
	}
	return b.String()
}

// If the CLI dies while a question stands in the conversation, the next prompt
// was meant for it: it ends with that error and is not sent.
func TestDeathWhileIdle(t *testing.T) {
	t.Parallel()
	eachIdle(t, func(t *testing.T, e *editor, cli *ct.CLI, s string, r *acptest.Request, no string) {
		kill(t, cli.Starts()[0].Pid)
		if r != nil {
			<-r.Withdrawn
		} else {
			e.Await(s, "the end", func(u gjson.Result) bool { return u.Get("status").Str == "failed" })
			e.Prompt(s, "2").Fails("Claude Code was ended by a signal")
			require.Equal(t, []string{"hi"}, cli.Prompts(), "the prompt is not sent")
		}
		e.Prompt(s, "again").Ends(acp.StopReasonEndTurn)
		require.Equal(t, []string{"hi", "again"}, cli.Prompts())
		require.Nil(t, cli.Reply("open"))
	})
}

var (
	runTests = ct.Q("Run the tests first?", "Tests", false, "Yes", "No")
	deleteDB = ct.Q("Delete the production database?", "Delete", false, "Yes", "No")
)

// A reply that may have been meant for a question that is gone answers no other
// one: the conversation says that the first is gone, shows the second once more,
// and the next reply is its answer.
func TestReplyToAQuestionThatIsGone(t *testing.T) {
	withdraw := ct.Raw(`{"type":"control_cancel_request","request_id":"req-1-first"}`)
	for name, tc := range map[string]struct {
		goes   []ct.Step
		end    func(t *testing.T, d *desk.Desk, s string)
		remark string
	}{
		"the agent withdraws it": {steps{withdraw}, func(*testing.T, *desk.Desk, string) {}, "The agent has withdrawn this question"},
		"it is answered elsewhere": {nil, func(t *testing.T, d *desk.Desk, s string) {
			answer := []convert.Answer{{Selected: []string{"No"}}}
			require.NoError(t, d.Answer(desk.Ref{Session: s, ID: "first"}, answer, "phone"))
		}, "This question was answered elsewhere"},
	} {
		t.Run(name, func(t *testing.T) {
			script := steps{asksLater("first", "AskUserQuestion", object{"questions": qs(runTests)}, false), ct.Wait("typing")}
			script = append(script, tc.goes...)
			script = append(script, asksLater("second", "AskUserQuestion", object{"questions": qs(deleteDB)}, false), ct.Wait("answered"), ct.Text("Done."))
			cli := ct.New(t, turns(script))
			var d desk.Desk
			e := serve(t, backend.Options{Claude: cli.Path, First: adapter.Conversation, Desk: &d})
			s := e.Ready()
			first := e.Prompt(s, "hi")
			first.Ends(acp.StopReasonEndTurn)
			require.Equal(t, "first", first.Resp.Get("_meta.acp-bridge.waitingFor").Str)

			tc.end(t, &d, s) // while the user writes "Yes"
			cli.Release("typing")
			e.Await(s, "the second question", func(u gjson.Result) bool { return strings.Contains(u.Get("content.text").Str, "Delete the production") })
			require.Less(t, strings.Index(e.Said(s), tc.remark), strings.Index(e.Said(s), "Delete the production"), "the user reads first that the other is gone")
			require.Contains(t, e.Said(s), tc.remark)

			yes := e.Prompt(s, "Yes")
			yes.Ends(acp.StopReasonEndTurn)
			require.Equal(t, "second", yes.Resp.Get("_meta.acp-bridge.waitingFor").Str)
			require.Nil(t, cli.Reply("second"), "it was meant for the first")
			require.Equal(t, 2, strings.Count(e.Said(s), "Delete the production database?"), "it is shown again")

			no := e.Prompt(s, "No")
			require.JSONEq(t, `{"Delete the production database?":"No"}`, answers(cli, "second"))
			cli.Release("answered")
			no.Ends(acp.StopReasonEndTurn)
			require.Equal(t, []string{"hi"}, cli.Prompts())
		})
	}
}
