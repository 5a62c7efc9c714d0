//go:build unix

package backend_test

import (
	"strings"
	"sync"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
)

// A question is dismissed while a sub-agent's permission waits behind it: one that ends
// with the turn is taken back by the CLI, one that works on in the background is asked.
func TestRealDismissedBesideASubAgent(t *testing.T) {
	path := realClaude(t)
	for name, background := range map[string]bool{"with the turn": false, "in the background": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api, d := apitest.New(t), new(desk.Desk)
			api.Script(apitest.Use(
				apitest.ToolUse("toolu_a", "Agent", object{"description": "delegate", "prompt": "work of the sub-agent", "subagent_type": "general-purpose", "run_in_background": background}),
				apitest.ToolUse("toolu_q", "AskUserQuestion", object{"questions": []object{{"question": "Which?", "header": "H", "multiSelect": false, "options": []object{{"label": "a", "description": "x"}, {"label": "b", "description": "y"}}}}}),
			), apitest.Say("done"), apitest.Say("later"))
			api.When(func(q apitest.Request) bool {
				return strings.Contains(q.Get("messages.0.content").Raw, "work of the sub-agent")
			}, apitest.Use(apitest.ToolUse("toolu_b", "Bash", object{"command": "mkdir one", "description": "make"})), apitest.Say("the sub-agent is done"))
			behind := make(chan struct{})
			once := sync.OnceFunc(func() { close(behind) })
			defer d.Watch(func(e desk.Entry) {
				if e.Call.ID == "toolu_b" {
					once()
				}
			})()
			e := serve(t, backend.Options{Claude: path, Desk: d, Env: apitest.Env(api, t.TempDir())})
			e.Initialize(`{}`)
			turn := e.Prompt(e.Open(t.TempDir()), "go")
			question := e.Next()
			require.Contains(t, question.Raw, "Which?")
			<-behind
			question.Answer <- object{"outcome": object{"outcome": "cancelled"}}
			if background {
				again := e.Next()
				require.Contains(t, again.Raw, "toolu_b")
				again.Selects("allow")
			}
			turn.Ends(acp.StopReasonCancelled)
			require.Empty(t, d.List())
		})
	}
}
