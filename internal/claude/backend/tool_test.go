package backend_test

import (
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
