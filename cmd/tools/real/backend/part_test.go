//go:build unix

package backend_test

import (
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// The real CLI: the same order, and a sub-agent that is stopped.
func TestRealSubAgentAsASession(t *testing.T) {
	t.Parallel()
	delegate := func(prompt string) apitest.Reply {
		return apitest.Use(apitest.ToolUse("toolu_a", "Agent", object{"description": "delegate", "prompt": prompt, "subagent_type": "general-purpose", "run_in_background": false}))
	}
	inner := func(r apitest.Request) bool {
		return strings.Contains(r.Get("messages.0.content").Raw, "work of the sub-agent")
	}
	states := func(e *editor, s string) (list []string) {
		for _, line := range partLines(e, s) {
			if _, state, ok := strings.Cut(line, " is "); ok && strings.HasPrefix(line, "main| ") && !strings.Contains(line, ": ") {
				list = append(list, state)
			}
		}
		return list
	}
	t.Run("works", func(t *testing.T) {
		e, api := real(t, delegate("work of the sub-agent"), apitest.Say("done"))
		api.When(inner, apitest.Use(apitest.Text("I look."), apitest.ToolUse("toolu_b", "Bash", object{"command": "mkdir x", "description": "make"})), apitest.Say("the sub-agent is done"))
		e.Initialize(subAgents)
		s := e.Open(t.TempDir())
		turn := e.Prompt(s, "go")
		r := e.Asked("mkdir x")
		id := r.Get("sessionId").Str
		require.NotEqual(t, s, id)
		r.Selects("allow")
		turn.Ends(acp.StopReasonEndTurn)
		require.Equal(t, []string{"running delegate", "requires_action", "running", "idle end_turn"}, states(e, s))
		require.Equal(t, "I look.the sub-agent is done", e.Said(id))
		require.Equal(t, "completed", e.Tool(id, "toolu_b")["status"])
		require.Empty(t, e.Tool(s, "toolu_a"))
		require.Equal(t, "done", e.Said(s))
	})
	stopped := func(t *testing.T, editor func(*acptest.Request)) {
		e, api := real(t, delegate("work of the sub-agent"), apitest.Say("done"))
		api.When(inner, apitest.Use(apitest.ToolUse("toolu_b", "Bash", object{"command": "mkdir x", "description": "make"})), apitest.Say("the sub-agent is done"))
		e.Initialize(subAgents)
		s := e.Open(t.TempDir())
		turn := e.Prompt(s, "go")
		r := e.Asked("mkdir x")
		e.Cancel(r.Get("sessionId").Str)
		editor(r)
		turn.Ends(acp.StopReasonEndTurn)
		require.Equal(t, []string{"running delegate", "requires_action", "idle cancelled"}, states(e, s))
	}
	t.Run("is stopped", func(t *testing.T) { stopped(t, func(r *acptest.Request) { <-r.Withdrawn }) })
	t.Run("is stopped by an editor that answers", func(t *testing.T) {
		stopped(t, func(r *acptest.Request) { r.Answer <- object{"outcome": object{"outcome": "cancelled"}} })
	})
}
