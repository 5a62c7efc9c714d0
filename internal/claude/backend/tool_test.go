package backend_test

import (
	"strings"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

func TestToolCallIsDrawnStepByStep(t *testing.T) {
	e, _ := scripted(t, turns(steps{ct.Message(ct.Tool("toolu_1", "Bash", object{"command": "echo hi", "description": "greet"}, "hi"))}))
	s := e.Ready()
	e.Prompt(s, "go").Ends(acp.StopReasonEndTurn)
	var states []string
	for _, u := range e.Updates(s) {
		if u.Get("toolCallId").Str == "toolu_1" {
			states = append(states, u.Get("sessionUpdate").Str+" "+u.Get("title").Str+" "+u.Get("status").Str)
			require.Equal(t, "Bash", u.Get("_meta.claudeCode.toolName").Str)
			require.Equal(t, u.Get("sessionUpdate").Str == "tool_call", u.Get("name").Str == "Bash", "its name comes once")
		}
	}
	require.Equal(t, []string{
		"tool_call Terminal pending", // its name is known
		"tool_call_update echo hi ",  // its title, while the input streams
		"tool_call_update echo hi ",  // its whole input
		"tool_call_update  completed",
	}, states)
	require.Contains(t, e.Tool(s, "toolu_1")["content"], "```console\\nhi\\n```")
}

func TestPermission(t *testing.T) {
	t.Parallel()
	rules := []object{
		{"type": "addRules", "rules": []object{{"toolName": "Bash", "ruleContent": "mkdir one *"}}, "behavior": "allow", "destination": "localSettings"},
		{"type": "addDirectories", "directories": []string{"/x"}, "destination": "session"},
		{"type": "setMode", "mode": "acceptEdits", "destination": "session"},
	}
	mode := []object{{"type": "setMode", "mode": "acceptEdits", "destination": "session"}}
	bash := object{"command": "mkdir one"}
	for name, test := range map[string]struct {
		block   ct.Block
		options string
		reply   func(*acptest.Request)
		want    string
		stop    acp.StopReason
		status  string
	}{
		"allow": {ct.AskTool("toolu_1", "Bash", bash, "", nil), "allow=Allow|reject=Reject",
			func(r *acptest.Request) { r.Selects("allow") }, `{"behavior":"allow","updatedInput":{"command":"mkdir one"}}`, acp.StopReasonEndTurn, "completed"},
		"always": {ct.AskTool("toolu_1", "Bash", bash, "", rules), "allow=Allow|allow_always=Always allow Bash(mkdir one *) in this project|accept_edits=Accept all edits in this session, also in /x|reject=Reject",
			func(r *acptest.Request) { r.Selects("allow_always") },
			`{"behavior":"allow","updatedInput":{"command":"mkdir one"},"updatedPermissions":[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"mkdir one *"}],"behavior":"allow","destination":"localSettings"}]}`, acp.StopReasonEndTurn, "completed"},
		"accept edits": {ct.AskTool("toolu_1", "Write", object{"file_path": "/x", "content": "y"}, "", mode), "allow=Allow|accept_edits=Accept all edits in this session|reject=Reject",
			func(r *acptest.Request) { r.Selects("accept_edits") },
			`{"behavior":"allow","updatedInput":{"file_path":"/x","content":"y"},"updatedPermissions":[{"type":"setMode","mode":"acceptEdits","destination":"session"}]}`, acp.StopReasonEndTurn, "completed"},
		"reject": {ct.AskTool("toolu_1", "Bash", bash, "", nil), "allow=Allow|reject=Reject",
			func(r *acptest.Request) { r.Selects("reject") }, `{"behavior":"deny","message":"The user rejected this tool use"}`, acp.StopReasonEndTurn, "failed"},
		"reject with a reason": {ct.AskTool("toolu_1", "Bash", bash, "", nil), "allow=Allow|reject=Reject",
			func(r *acptest.Request) {
				r.Answer <- object{"outcome": object{"outcome": "selected", "optionId": "reject"}, "_meta": object{"customText": " use /tmp "}}
			}, `{"behavior":"deny","message":"use /tmp"}`, acp.StopReasonEndTurn, "failed"},
		"not offered": {ct.AskTool("toolu_1", "Bash", bash, "", nil), "allow=Allow|reject=Reject",
			func(r *acptest.Request) { r.Selects("always") },
			`{"behavior":"deny","message":"Permission was not given: the editor replied with the option always, which was not offered"}`, acp.StopReasonEndTurn, "failed"},
		"garbage": {ct.AskTool("toolu_1", "Bash", bash, "", nil), "allow=Allow|reject=Reject",
			func(r *acptest.Request) { r.Answer <- object{"outcome": object{"outcome": "Selected"}} },
			`{"behavior":"deny","message":"The user could not be asked for permission: invalid reply: outcome must be \"selected\" or \"cancelled\", not \"Selected\""}`, acp.StopReasonEndTurn, "failed"},
		"an error": {ct.AskTool("toolu_1", "Bash", bash, "", nil), "allow=Allow|reject=Reject",
			func(r *acptest.Request) { r.Answer <- &acp.RequestError{Code: -1, Message: "no window"} },
			`{"behavior":"deny","message":"The user could not be asked for permission: no window"}`, acp.StopReasonEndTurn, "failed"},
		"cancelled": {ct.AskTool("toolu_1", "Bash", bash, "", nil), "allow=Allow|reject=Reject",
			func(r *acptest.Request) { r.Cancels() }, `{"behavior":"deny","message":"The user dismissed the permission request","interrupt":true}`, acp.StopReasonCancelled, "failed"},
		"plan": {ct.AskTool("toolu_1", "ExitPlanMode", object{"plan": "1. x"}, "", nil),
			"default=Yes, and ask before edits|auto=Yes, and use auto mode|acceptEdits=Yes, and accept all edits|plan=No, keep planning",
			func(r *acptest.Request) { r.Selects("default") },
			`{"behavior":"allow","updatedInput":{"plan":"1. x"},"updatedPermissions":[{"type":"setMode","mode":"default","destination":"session"}]}`, acp.StopReasonEndTurn, "completed"},
		"keep planning": {ct.AskTool("toolu_1", "ExitPlanMode", object{"plan": "1. x"}, "", nil),
			"default=Yes, and ask before edits|auto=Yes, and use auto mode|acceptEdits=Yes, and accept all edits|plan=No, keep planning",
			func(r *acptest.Request) { r.Selects("plan") }, `{"behavior":"deny","message":"The user rejected this tool use"}`, acp.StopReasonEndTurn, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			e, cli := scripted(t, turns(steps{ct.Message(test.block)}, steps{ct.Text("next")}))
			s := e.Ready()
			turn := e.Prompt(s, "go")
			r := e.Next()
			require.Equal(t, test.options, r.Options())
			require.Equal(t, "toolu_1", r.Get("toolCall.toolCallId").Str)
			require.NotEmpty(t, r.Get("toolCall.title").Str)
			test.reply(r)
			turn.Ends(test.stop)
			require.JSONEq(t, test.want, string(cli.AwaitReply("toolu_1")))
			require.Equal(t, test.status, e.Tool(s, "toolu_1")["status"])
			if test.status == "failed" {
				last := e.Updates(s)
				for _, u := range last {
					require.NotContains(t, u.Get("content.0.content.text").Str, "```console", "a rejection is no output")
				}
			}
			e.Prompt(s, "again").Ends(acp.StopReasonEndTurn)
		})
	}
}

// What the user writes beside a no is its reason. Beside a yes it may be a condition, which
// nobody can check: the request is shown again, and says what was understood.
func TestWordsBesideAPermission(t *testing.T) {
	t.Parallel()
	const remark = `You allowed it with a condition ("only in /tmp"), which cannot be checked. Allow or reject it.`
	for _, key := range []string{"customText", "notes"} {
		for _, in := range []string{"outcome", "response"} {
			with := func(option string) object {
				o, r := object{"outcome": "selected", "optionId": option}, object{}
				map[string]object{"outcome": o, "response": r}[in]["_meta"] = object{key: " only in /tmp "}
				r["outcome"] = o
				return r
			}
			for name, row := range map[string]struct {
				first, then object
				want        string
			}{
				"no":                {with("reject"), nil, `{"behavior":"deny","message":"only in /tmp"}`},
				"yes, and then no":  {with("allow"), with("reject"), `{"behavior":"deny","message":"only in /tmp"}`},
				"yes, and then yes": {with("allow"), object{"outcome": object{"outcome": "selected", "optionId": "allow"}}, `{"behavior":"allow","updatedInput":{"command":"mkdir one"}}`},
			} {
				t.Run(key+" "+in+" "+name, func(t *testing.T) {
					ask := ct.AskTool("toolu_1", "Bash", object{"command": "mkdir one"}, "", nil)
					e, cli := scripted(t, turns(steps{ct.Message(ask)}))
					turn := e.Prompt(e.Ready(), "go")
					e.Next().Answer <- row.first
					if row.then != nil {
						again := e.Next()
						require.Equal(t, remark, again.Get("toolCall.content.0.content.text").Str, again.Raw)
						require.Equal(t, "toolu_1", again.Get("toolCall.toolCallId").Str)
						again.Answer <- row.then
					}
					turn.Ends(acp.StopReasonEndTurn)
					require.JSONEq(t, row.want, string(cli.AwaitReply("toolu_1")))
				})
			}
		}
	}
}

// An editor that sends words with every yes gives no permission.
func TestWordsBesideEveryPermission(t *testing.T) {
	t.Parallel()
	e, cli := scripted(t, turns(steps{ct.Message(ct.AskTool("toolu_1", "Bash", object{"command": "mkdir one"}, "", nil))}))
	turn := e.Prompt(e.Ready(), "go")
	for range 3 {
		e.Next().Answer <- object{"outcome": object{"outcome": "selected", "optionId": "allow", "_meta": object{"notes": "quickly"}}}
	}
	turn.Ends(acp.StopReasonEndTurn)
	require.Contains(t, string(cli.AwaitReply("toolu_1")), `"behavior":"deny","message":"The user could not be asked for permission: the answer does not fit: you allowed it with a condition`)
}

func TestSubAgent(t *testing.T) {
	e, _ := scripted(t, turns(steps{ct.Message(ct.Agent("toolu_a", "explore", ct.Message(ct.TextBlock("inner words"), ct.Tool("toolu_b", "Read", object{"file_path": "/x.go"}, "package x")))), ct.Text("done")}))
	s := e.Ready()
	e.Prompt(s, "go").Ends(acp.StopReasonEndTurn)
	require.Equal(t, "done", e.Said(s), "a sub-agent's words are for its parent")
	require.Equal(t, "completed", e.Tool(s, "toolu_a")["status"])
	require.Equal(t, "completed", e.Tool(s, "toolu_b")["status"])
	for _, u := range e.Updates(s) {
		if u.Get("toolCallId").Str == "toolu_b" {
			require.Equal(t, "toolu_a", u.Get("_meta.claudeCode.parentToolUseId").Str)
		}
	}
}

func TestPlan(t *testing.T) {
	e, _ := scripted(t, turns(steps{ct.Message(ct.TodoWrite("toolu_1", "Write it", "in_progress", "Test it", "pending"))}))
	s := e.Ready()
	e.Prompt(s, "go").Ends(acp.StopReasonEndTurn)
	var plan gjson.Result
	for _, u := range e.Updates(s) {
		require.NotEqual(t, "toolu_1", u.Get("toolCallId").Str, "a plan is no tool call")
		if u.Get("sessionUpdate").Str == "plan" {
			plan = u
		}
	}
	require.Equal(t, "Write it", plan.Get("entries.0.content").Str)
	require.Equal(t, "in_progress", plan.Get("entries.0.status").Str)
	require.Equal(t, "pending", plan.Get("entries.1.status").Str)
}

// A list that was not set is not drawn; what failed is, as a tool call.
func TestFailedPlan(t *testing.T) {
	failed := ct.TodoWrite("toolu_1", "Write it", "in_progress")
	failed.Output, failed.Failed, failed.Detail = "InputValidationError: todos", true, nil
	e, _ := scripted(t, turns(steps{ct.Message(failed)}))
	s := e.Ready()
	e.Prompt(s, "go").Ends(acp.StopReasonEndTurn)
	for _, u := range e.Updates(s) {
		require.NotEqual(t, "plan", u.Get("sessionUpdate").Str)
	}
	require.Equal(t, "failed", e.Tool(s, "toolu_1")["status"])
}

func TestOpenToolCallsEndWithACancelledTurn(t *testing.T) {
	e, _ := scripted(t, turns(steps{ct.Message(ct.AskTool("toolu_1", "Bash", object{"command": "ls"}, "", nil))}))
	s := e.Ready()
	turn := e.Prompt(s, "go")
	r := e.Next()
	e.Cancel(s)
	turn.Ends(acp.StopReasonCancelled)
	<-r.Withdrawn
	require.Equal(t, "failed", e.Tool(s, "toolu_1")["status"])
}

// A permission that is open when the user cancels: what the CLI tells the model
// then is not for the user.
func TestCancelledPermissionIsDrawnAsCancelled(t *testing.T) {
	e, _ := scripted(t, turns(steps{ct.Message(ct.AskTool("toolu_1", "Bash", object{"command": "make"}, "", nil))}))
	s := e.Ready()
	turn := e.Prompt(s, "go")
	e.Asked("make")
	e.Cancel(s)
	turn.Ends(acp.StopReasonCancelled)
	tool := e.Tool(s, "toolu_1")
	require.Equal(t, "failed", tool["status"])
	require.NotContains(t, tool["content"], "STOP")
}

// A permission request that goes with its turn was answered by nobody, and is not
// told as a choice of the user. One that goes with the user's cancel is.
func TestPermissionTakenBack(t *testing.T) {
	t.Parallel()
	request := ct.Raw(string(jsonOf(t, object{"type": "control_request", "request_id": "req-1-toolu_1", "request": object{
		"subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": "toolu_1", "input": object{"command": "ls"}}})))
	for name, c := range map[string]struct {
		then      ct.Step
		cancel    bool
		told      string
		interrupt bool
	}{
		"the turn ends":    {ct.Wait("end"), false, "Permission was not given: the request was taken back: the agent's turn ended", false},
		"the user cancels": {ct.Hang(), true, "Permission was not given: the request was taken back: the user cancelled the turn", true},
	} {
		t.Run(name, func(t *testing.T) {
			e, cli := scripted(t, turns(steps{request, c.then}))
			s := e.Ready()
			turn := e.Prompt(s, "go")
			r := e.Asked("ls")
			if c.cancel {
				e.Cancel(s)
			} else {
				cli.Release("end")
			}
			<-r.Withdrawn
			<-turn.Done
			reply := gjson.ParseBytes(cli.AwaitReply("toolu_1"))
			require.Equal(t, "deny", reply.Get("behavior").Str)
			require.Equal(t, c.told, reply.Get("message").Str)
			require.Equal(t, c.interrupt, reply.Get("interrupt").Bool())
		})
	}
}

// Who cancels a turn has seen one question. The one behind it goes along, and that is
// what the agent is told.
func TestCancelOfAnotherQuestion(t *testing.T) {
	t.Parallel()
	ask := func(id string) ct.Step {
		return ct.Raw(string(jsonOf(t, object{"type": "control_request", "request_id": "req-1-" + id, "request": object{
			"subtype": "can_use_tool", "tool_name": "AskUserQuestion", "tool_use_id": id,
			"input": object{"questions": []object{{"question": id + "?", "header": "H", "options": []object{{"label": "A"}, {"label": "B"}}}}}}})))
	}
	cli, d := ct.New(t, turns(steps{ask("toolu_1"), ask("toolu_2"), ct.Hang()})), new(desk.Desk)
	e := serve(t, backend.Options{Claude: cli.Path, Desk: d})
	s := e.Ready()
	turn := e.Prompt(s, "go")
	r := e.Asked("toolu_1?")
	require.Eventually(t, func() bool { return len(d.List()) == 2 }, acptest.Patience, time.Millisecond)
	e.Cancel(s)
	<-r.Withdrawn
	<-turn.Done
	for id, told := range map[string]string{"toolu_1": "User cancelled the question", "toolu_2": "Withdrawn: the user cancelled the turn"} {
		reply := gjson.ParseBytes(cli.AwaitReply(id))
		require.Equal(t, "deny", reply.Get("behavior").Str)
		require.Equal(t, told, reply.Get("message").Str, id)
		require.True(t, reply.Get("interrupt").Bool())
	}
}

// Where an editor shows titles alone, all of a command is in the conversation before
// its permission is asked for.
func TestLongCommandIsSeen(t *testing.T) {
	long := "echo " + strings.Repeat("x", 200) + "; rm -rf ~"
	for name, seen := range map[string]bool{"zed": true, "CodeCompanion.nvim": false, "vscode-acp-client": false} {
		cli := ct.New(t, turns(steps{ct.Message(ct.AskTool("toolu_1", "Bash", object{"command": long}, "", nil))}))
		e := serve(t, backend.Options{Claude: cli.Path})
		e.initializeAs(name, `{}`)
		s := e.Open(t.TempDir())
		turn := e.Prompt(s, "hi")
		r := e.Asked("toolu_1")
		require.NotContains(t, r.Get("toolCall.title").Str, "rm -rf")
		require.Equal(t, !seen, strings.Contains(e.Said(s), long), name)
		r.Selects("reject")
		turn.Ends(acp.StopReasonEndTurn)
	}
}
