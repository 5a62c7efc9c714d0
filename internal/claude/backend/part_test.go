package backend_test

import (
	"strings"
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
