//go:build unix

package backend_test

import (
	"fmt"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

// cleared is a session of the real CLI whose user goes on with a plan in a clear context.
type cleared struct {
	*editor
	api  *apitest.Server
	opts backend.Options
	s    string
	dir  string
	turn *acptest.Turn
	plan *acptest.Request
}

// planned asks for a plan. At is called when the CLI is to be sent a line that holds a text.
func planned(t *testing.T, text string, at func(*cleared), replies ...apitest.Reply) *cleared {
	path, home := realClaude(t), t.TempDir()
	c := &cleared{api: apitest.New(t), dir: t.TempDir()}
	c.api.Script(append([]apitest.Reply{apitest.Use(apitest.ToolUse("toolu_1", "ExitPlanMode", object{"plan": "1. do it"}))}, replies...)...)
	c.opts = backend.Options{Claude: path, Env: append(apitest.Env(c.api, home), "XDG_STATE_HOME="+home)}
	opts := c.opts
	opts.Trace = func(wire string, dir ndjson.Direction, line []byte) {
		if wire != "editor" && dir == ndjson.Out && at != nil && strings.Contains(string(line), text) {
			at(c)
			at = nil
		}
	}
	c.editor = serve(t, opts)
	c.Initialize(`{"plan":{}}`)
	c.s = c.Open(c.dir)
	c.Call(acp.AgentMethodSessionSetMode, `{"sessionId":"`+c.s+`","modeId":"plan"}`)
	c.turn = c.Prompt(c.s, "hello")
	c.plan = c.Asked("1. do it")
	return c
}

// What the model gets is the plan alone, in the mode that was picked. A new process goes on
// with that.
func TestRealPlanInClearContext(t *testing.T) {
	t.Parallel()
	c := planned(t, "", nil, apitest.Say("Done."), apitest.Say("Later."))
	require.Regexp(t, `^default=Yes, and ask before edits\|clear_auto=Yes, clear context( \(\d+% used\))? and use auto mode\|auto=`, c.plan.Options())
	c.plan.Selects("clear_auto")
	c.turn.Ends(acp.StopReasonEndTurn)
	require.Equal(t, int64(20), c.turn.Resp.Get("usage.inputTokens").Int(), "of both turns")
	require.Equal(t, "completed", c.Tool(c.s, "toolu_1")["status"])
	require.Contains(t, c.Said(c.s), "Done.")
	var cost []float64
	for _, u := range c.Updates(c.s) {
		if u.Get("cost").Exists() {
			cost = append(cost, u.Get("cost.amount").Float())
		}
	}
	require.Len(t, cost, 2)
	require.InDelta(t, 2*cost[0], cost[1], 1e-9)
	all := c.api.Main()
	require.Len(t, all, 2)
	body := string(all[1].Body)
	require.Contains(t, body, `Implement the following plan:\n\n1. do it`)
	require.NotContains(t, body, `"hello"`)
	c.Leave()

	e := serve(t, c.opts)
	e.Initialize(`{}`)
	e.Call(acp.AgentMethodSessionLoad, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, c.s, c.dir))
	require.Equal(t, "Done.", e.Said(c.s))
	require.Equal(t, "Implement the following plan:\n\n1. do it", e.Text(c.s, "user_message_chunk"))
	e.Prompt(c.s, "more").Ends(acp.StopReasonEndTurn)
	require.Contains(t, string(c.api.Main()[2].Body), "Done.")
}

var realClearSteps = map[string]string{"no": `"behavior":"deny"`, "clear": `"/clear"`, "mode": `"mode":"auto"`, "plan": "Implement the following plan"}

func TestRealPlanInClearContextCancelled(t *testing.T) {
	t.Parallel()
	for step, text := range realClearSteps {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			c := planned(t, text, func(c *cleared) { go c.Cancel(c.s) })
			never := make(chan struct{})
			defer close(never)
			c.api.When(func(r apitest.Request) bool { return !strings.Contains(string(r.Body), `"next"`) }, apitest.Hang(never))
			c.api.When(func(r apitest.Request) bool { return strings.Contains(string(r.Body), `"next"`) }, apitest.Say("Next."))
			c.plan.Selects("clear_auto")
			c.turn.Ends(acp.StopReasonCancelled)
			c.Prompt(c.s, "next").Ends(acp.StopReasonEndTurn)
			require.Contains(t, c.Said(c.s), "Next.")
			if step != "plan" {
				require.Len(t, c.api.Main(), 2, "the plan has not begun")
			}
		})
	}
}

// The CLI dies before each step: the user is told what became of the context.
func TestRealPlanInClearContextKilled(t *testing.T) {
	t.Parallel()
	for step, text := range realClearSteps {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			c := planned(t, text, func(c *cleared) { killClaude(t, c.s) })
			c.plan.Selects("clear_auto")
			said := c.turn.Fails("ended by a signal").Error() + c.Said(c.s)
			require.Contains(t, said, "plan was not begun")
			c.api.Script(apitest.Say("Next."))
			c.Prompt(c.s, "next").Ends(acp.StopReasonEndTurn)
			require.Contains(t, c.Said(c.s), "Next.")
			all := c.api.Main()
			before := strings.Contains(string(all[len(all)-1].Body), `"hello"`)
			require.Equal(t, before, strings.Contains(said, "the context was not cleared"), "what was said is true")
			require.Equal(t, !before, strings.Contains(said, "the context is clear"))
		})
	}
}
