//go:build unix

package backend_test

import (
	"fmt"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
)

// The real CLI's own files.
func TestRealSubAgentsOfALoadedSession(t *testing.T) {
	t.Parallel()
	e, api := real(t, apitest.Use(apitest.ToolUse("toolu_a", "Agent", object{"description": "delegate", "prompt": "work of the sub-agent", "subagent_type": "general-purpose", "run_in_background": false})), apitest.Say("done"))
	api.When(func(r apitest.Request) bool {
		return strings.Contains(r.Get("messages.0.content").Raw, "work of the sub-agent")
	}, apitest.Use(apitest.Text("I look."), apitest.ToolUse("toolu_b", "Bash", object{"command": "mkdir x", "description": "make"})), apitest.Say("the sub-agent is done"))
	e.Initialize(subAgents)
	dir := t.TempDir()
	s := e.Open(dir)
	turn := e.Prompt(s, "go")
	r := e.Asked("mkdir x")
	id := r.Get("sessionId").Str
	r.Selects("allow")
	turn.Ends(acp.StopReasonEndTurn)
	before := len(partLines(e, s))
	e.Call(acp.AgentMethodSessionLoad, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, s, dir))
	var lines []string
	for _, line := range partLines(e, s)[before:] {
		lines = append(lines, strings.ReplaceAll(line, id, "child"))
	}
	require.Equal(t, []string{
		"main| child is running delegate",
		"main| main to child: work of the sub-agent",
		"child| main to child: work of the sub-agent",
		"child| says I look.",
		"child| toolu_b pending",
		"child| toolu_b completed",
		"child| says the sub-agent is done",
		"main| child is idle end_turn",
		"main| child to main: the sub-agent is done",
		"main| says done",
	}, lines[:10])
}
