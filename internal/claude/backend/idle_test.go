package backend_test

import (
	"strings"

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

// record is what the CLI got, in order.
func record(cli *ct.CLI) string {
	var b strings.Builder
	for _, l := range cli.Lines() {
		b.Write(l.Raw)
	}
	return b.String()
}

var (
	runTests = ct.Q("Run the tests first?", "Tests", false, "Yes", "No")
	deleteDB = ct.Q("Delete the production database?", "Delete", false, "Yes", "No")
)
