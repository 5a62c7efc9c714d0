package backend_test

import (
	"fmt"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// subAgents is an editor that has sub-agents as sessions.
const subAgents = `{"subagents":{}}`

// The stand-in's id of the sub-agent that toolu_a begins.
const child = "agent-toolu_a"

// partLines is what an editor was told of sub-agents and by them, and of tool calls, in
// order: the session, and what.
func partLines(e *editor, main string) (lines []string) {
	all, _ := e.Log()
	for _, n := range all {
		u, line := n.Get("update"), ""
		switch kind := u.Get("sessionUpdate").Str; kind {
		case "subagent_update":
			line = strings.Join([]string{u.Get("sessionId").Str, "is", u.Get("state.state").Str, u.Get("state.stopReason").Str, u.Get("state.error.message").Str, u.Get("title").Str}, " ")
		case "session_message":
			line = u.Get("senderSessionId").Str + " to " + u.Get("recipientSessionId").Str + ": " + u.Get("content.0.text").Str
		case "agent_message_chunk":
			line = "says " + u.Get("content.text").Str
		case "tool_call", "tool_call_update":
			line = u.Get("toolCallId").Str + " " + u.Get("status").Str
		default:
			continue
		}
		lines = append(lines, strings.Join(strings.Fields(strings.ReplaceAll(n.Get("sessionId").Str+"| "+line, main, "main")), " "))
	}
	return lines
}

// goes is an agent with sub-agents that got a prompt.
func goes(t *testing.T, script ct.Script) (*editor, *ct.CLI, string, *acptest.Turn) {
	e, cli := scripted(t, script)
	e.Initialize(subAgents)
	s := e.Open(t.TempDir())
	return e, cli, s, e.Prompt(s, "go")
}

// Its work, its words and its requests are in a session of its own; the call that
// began it is not drawn.
func TestSubAgentAsASession(t *testing.T) {
	cli := ct.New(t, turns(steps{
		ct.Message(ct.Agent("toolu_a", "explore", ct.Message(ct.TextBlock("I look."), ct.AskTool("toolu_b", "Bash", object{"command": "ls"}, "x", nil)), ct.Message(ct.Question("toolu_q", which)))),
		ct.Text("done"),
	}))
	open := new(desk.Desk)
	e := serve(t, backend.Options{Claude: cli.Path, Desk: open})
	e.Initialize(subAgents)
	s := e.Open(t.TempDir())
	turn := e.Prompt(s, "go")
	r := e.Asked("ls")
	require.Equal(t, child, r.Get("sessionId").Str)
	require.Equal(t, s, open.List()[0].Call.Session, "elsewhere it is one of the session that people know")
	r.Selects("allow")
	q := e.Asked("Which database?")
	require.Equal(t, child, q.Get("sessionId").Str)
	q.Selects("SQLite")
	turn.Ends(acp.StopReasonEndTurn)
	require.JSONEq(t, `{"Which database?":"SQLite"}`, answers(cli, "toolu_q"))
	require.Equal(t, []string{
		"main| " + child + " is running explore",
		"main| main to " + child + ": explore",
		child + "| main to " + child + ": explore",
		child + "| says I look.",
		child + "| toolu_b pending",
		"main| " + child + " is requires_action",
		"main| " + child + " is running",
		child + "| toolu_b in_progress",
		child + "| toolu_b completed",
		"main| " + child + " is requires_action",
		child + "| toolu_q pending",
		child + "| toolu_q completed",
		"main| " + child + " is running",
		"main| " + child + " is idle end_turn",
		"main| " + child + " to main: sub-agent done",
		"main| says done",
	}, partLines(e, s))
	opening := gjson.ParseBytes(cli.Controls("initialize")[0])
	require.True(t, opening.Get("forwardSubagentText").Bool(), opening.Raw)
}

// Words for a question of a sub-agent are typed in the conversation that the user
// can type in.
func TestSubAgentsQuestionInTheConversation(t *testing.T) {
	for name, serve := range map[string]serving{"agent": backend.Serve, "proxied": proxied} {
		t.Run(name, func(t *testing.T) { testSubAgentsQuestionInTheConversation(t, serve) })
	}
}

func testSubAgentsQuestionInTheConversation(t *testing.T, serve serving) {
	cli := ct.New(t, turns(steps{ct.Message(ct.Agent("toolu_a", "explore", ct.Message(ct.Question("toolu_q", which)))), ct.Text("done")}))
	e := serveWith(t, backend.Options{Claude: cli.Path, First: adapter.Conversation}, serve)
	e.Initialize(subAgents)
	s := e.Open(t.TempDir())
	turn := e.Prompt(s, "go")
	turn.Ends(acp.StopReasonEndTurn)
	require.Contains(t, e.Said(s), "Which database?")
	e.Prompt(s, "2").Ends(acp.StopReasonEndTurn)
	require.JSONEq(t, `{"Which database?":"SQLite"}`, answers(cli, "toolu_q"))
	require.Equal(t, "completed", e.Tool(child, "toolu_q")["status"])
}

// A form of a sub-agent's question is one of its session.
func TestSubAgentsFormIsOfItsSession(t *testing.T) {
	e, cli := scripted(t, turns(steps{ct.Message(ct.Agent("toolu_a", "explore", ct.Message(ct.Question("toolu_q", which)))), ct.Text("done")}))
	e.Initialize(`{"subagents":{},"elicitation":{"form":{}}}`)
	s := e.Open(t.TempDir())
	turn := e.Prompt(s, "go")
	r := e.Next()
	require.Equal(t, child, r.Get("sessionId").Str)
	r.Answer <- object{"action": "accept", "content": object{"question_0": "SQLite"}}
	turn.Ends(acp.StopReasonEndTurn)
	require.JSONEq(t, `{"Which database?":"SQLite"}`, answers(cli, "toolu_q"))
}

// Cancelling its session stops the sub-agent and nothing else. One that nobody
// knows is passed over.
func TestSubAgentIsCancelled(t *testing.T) {
	e, cli, _, turn := goes(t, turns(steps{ct.Message(ct.Agent("toolu_a", "explore", ct.Message(ct.TextBlock("I look.")), ct.Wait("go"))), ct.Text("done")}))
	e.Await(child, "its words", func(u gjson.Result) bool { return u.Get("content.text").Str == "I look." })
	e.Cancel("agent-of-nobody")
	e.Cancel(child)
	cli.Await("the stop", func([]ct.Line) bool { return len(cli.Controls("stop_task")) > 0 })
	require.Len(t, cli.Controls("stop_task"), 1)
	require.Equal(t, child, gjson.GetBytes(cli.Controls("stop_task")[0], "task_id").Str)
	require.Empty(t, cli.Controls("interrupt"))
	cli.Release("go")
	turn.Ends(acp.StopReasonEndTurn)
}

// What it asks goes with it: that the editor answers its request with a cancel, as
// ACP has it, ends neither the turn nor another sub-agent's request. One whose request
// was cancelled with the turn does not look as if it went on.
func TestSubAgentIsStoppedWithItsRequest(t *testing.T) {
	for name, tool := range map[string]ct.Block{
		"permission": ct.AskTool("toolu_b", "Bash", object{"command": "ls"}, "x", nil), "question": ct.Question("toolu_b", which),
	} {
		script := turns(steps{ct.Message(ct.Agent("toolu_a", "explore", ct.Message(tool))), ct.Message(ct.Question("toolu_q", which)), ct.Text("done")})
		t.Run(name, func(t *testing.T) {
			e, cli, s, turn := goes(t, script)
			r := e.Next()
			require.Equal(t, child, r.Get("sessionId").Str)
			e.Cancel(child)
			r.Answer <- object{"outcome": object{"outcome": "cancelled"}}
			q := e.Next()
			require.Equal(t, s, q.Get("sessionId").Str, "the turn goes on")
			q.Selects("SQLite")
			turn.Ends(acp.StopReasonEndTurn)
			reply := gjson.ParseBytes(cli.Reply("toolu_b"))
			require.Equal(t, "deny", reply.Get("behavior").Str)
			require.Contains(t, reply.Get("message").Str, "stopped this sub-agent")
			require.False(t, reply.Get("interrupt").Bool(), reply.Raw)
		})
		t.Run(name+" and the turn", func(t *testing.T) {
			e, _, s, turn := goes(t, script)
			e.Next()
			e.Cancel(s)
			turn.Ends(acp.StopReasonCancelled)
			e.Call(acp.AgentMethodSessionClose, fmt.Sprintf(`{"sessionId":%q}`, s))
			lines := strings.Join(partLines(e, s), "\n")
			require.Equal(t, 1, strings.Count(lines, child+" is running"), lines)
			require.Equal(t, 1, strings.Count(lines, child+" is idle"), lines)
		})
	}
}

// How it ended: as the CLI says, and with the CLI.
func TestSubAgentEnds(t *testing.T) {
	const started = `{"type":"system","subtype":"task_started","task_type":"local_agent","task_id":"x","tool_use_id":"toolu_a","description":"explore","subagent_type":"Plan"}`
	ended := func(status string) string {
		return fmt.Sprintf(`{"type":"system","subtype":"task_notification","task_id":"x","tool_use_id":"toolu_a","status":%q,"summary":"no luck"}`, status)
	}
	for want, script := range map[string]steps{
		"main| x is idle end_turn":      {ct.Raw(started, ended("completed"))},
		"main| x is idle cancelled":     {ct.Raw(started, ended("stopped"))},
		"main| x is idle error no luck": {ct.Raw(started, ended("failed"))},
		"main| x is idle":               {ct.Raw(started)},
	} {
		t.Run(want, func(t *testing.T) {
			e, _, s, turn := goes(t, turns(script))
			turn.Ends(acp.StopReasonEndTurn)
			e.Call(acp.AgentMethodSessionClose, fmt.Sprintf(`{"sessionId":%q}`, s))
			lines := partLines(e, s)
			require.Equal(t, want, lines[len(lines)-1])
		})
	}
}

// A request that the CLI takes back leaves a sub-agent that works on, or ends; it
// does not look as if it waited.
func TestSubAgentWorksOnWithoutItsRequest(t *testing.T) {
	ask := object{"type": "control_request", "request_id": "r1", "request": object{"subtype": "can_use_tool", "tool_name": "Bash", "input": object{"command": "ls"}, "tool_use_id": "toolu_b", "agent_id": child}}
	words := object{"type": "assistant", "parent_tool_use_id": "toolu_a", "agent_id": child, "message": object{"id": "m", "role": "assistant", "content": []any{object{"type": "text", "text": "On."}}}}
	e, cli, s, turn := goes(t, turns(steps{ct.Message(ct.Agent("toolu_a", "explore",
		ct.Raw(string(jsonOf(t, ask))), ct.Wait("asked"), ct.Raw(`{"type":"control_cancel_request","request_id":"r1"}`, string(jsonOf(t, words))))), ct.Text("done")}))
	r := e.Asked("ls")
	cli.Release("asked")
	<-r.Withdrawn
	turn.Ends(acp.StopReasonEndTurn)
	var states []string
	for _, line := range partLines(e, s) {
		if _, state, ok := strings.Cut(line, child+" is "); ok {
			states = append(states, state)
		}
	}
	require.Equal(t, []string{"running explore", "requires_action", "running", "idle end_turn"}, states)
}

// Without the CLI's word for it, the call that began a sub-agent is drawn like any
// other, before what it does.
func TestSubAgentThatIsNotAnnounced(t *testing.T) {
	call := object{"type": "assistant", "parent_tool_use_id": nil, "message": object{"id": "m1", "role": "assistant", "content": []any{object{"type": "tool_use", "id": "toolu_a", "name": "Agent", "input": object{"description": "explore", "prompt": "x"}}}}}
	inner := object{"type": "assistant", "parent_tool_use_id": "toolu_a", "message": object{"id": "m2", "role": "assistant", "content": []any{object{"type": "tool_use", "id": "toolu_b", "name": "Read", "input": object{"file_path": "/x"}}}}}
	result := object{"type": "user", "parent_tool_use_id": nil, "message": object{"role": "user", "content": []any{object{"type": "tool_result", "tool_use_id": "toolu_a", "content": "found"}}}}
	e, _, s, turn := goes(t, turns(steps{ct.Raw(string(jsonOf(t, call)), string(jsonOf(t, inner)), string(jsonOf(t, result))), ct.Text("done")}))
	turn.Ends(acp.StopReasonEndTurn)
	require.Equal(t, []string{"main| toolu_a pending", "main| toolu_b pending", "main| toolu_a completed", "main| says done"}, partLines(e, s))
}

// A sub-agent's sub-agent is a session of the one that began it.
func TestSubAgentOfASubAgent(t *testing.T) {
	inner := ct.Agent("toolu_i", "dig", ct.Message(ct.TextBlock("I dig.")))
	e, _, s, turn := goes(t, turns(steps{ct.Message(ct.Agent("toolu_a", "explore", ct.Message(inner))), ct.Text("done")}))
	turn.Ends(acp.StopReasonEndTurn)
	lines := partLines(e, s)
	require.Contains(t, lines, child+"| agent-toolu_i is running dig")
	require.Contains(t, lines, "agent-toolu_i| says I dig.")
	require.Contains(t, lines, child+"| agent-toolu_i to "+child+": sub-agent done")
}
