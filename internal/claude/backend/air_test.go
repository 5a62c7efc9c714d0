package backend_test

import (
	"fmt"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// AIR gets the fields that it reads; another editor gets none of them.
func TestAIR(t *testing.T) {
	const key = "_meta.jetbrains.air"
	for name, caps := range map[string]string{
		"AIR":     `{"subagents":{},"_meta":{"jetbrains":{"air":{"version":1,"capabilities":["diffPatch"]}}}}`,
		"another": `{"_meta":{"jetbrains":{}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			air := name == "AIR"
			e, _ := scripted(t, turns(steps{
				ct.Message(ct.AskTool("toolu_b", "Bash", object{"command": "ls", "description": "List files"}, "x", nil)),
				ct.Message(ct.Agent("toolu_a", "explore", ct.Message(ct.TextBlock("I look.")))),
				ct.Message(ct.Tool("toolu_s", "Skill", object{"skill": "pdf"}, "x")), ct.Message(ct.Tool("toolu_m", "mcp__db__query", object{}, "x")),
				ct.Text("done"),
			}))
			reply := e.initialize(caps)
			require.Equal(t, air, reply.Get(key+".version").Int() == 1, reply.Raw)
			opened := e.call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, t.TempDir()))
			s := opened.Get("sessionId").Str
			kinds := map[string]string{}
			for _, m := range opened.Get("modes.availableModes").Array() {
				kinds[m.Get("id").Str] = m.Get(key + ".kind").Str
			}
			if air {
				require.Equal(t, map[string]string{"default": "standard", "acceptEdits": "standard", "plan": "plan", "auto": "auto_review", "dontAsk": ""}, kinds)
				require.Equal(t, "plan", opened.Get(`configOptions.#(id=="mode").options.#(value=="plan").`+key+".kind").Str, opened.Raw)
			}
			turn := e.prompt(s, "go")
			r := e.asked("ls")
			require.Equal(t, air, r.Get(key+".permission.title").Str == "ls", r.Raw)
			r.selects("allow")
			turn.ends(acp.StopReasonEndTurn)
			said := func(call, field string) (last gjson.Result) {
				for _, u := range e.updates(s) {
					if v := u.Get(field); u.Get("toolCallId").Str == call && v.Exists() {
						last = v
					}
				}
				return last
			}
			require.Equal(t, air, said("toolu_b", key+".commandTitle").Str == "List files")
			require.Equal(t, air, said("toolu_a", key+".subagent").Bool(), "AIR has another draft of sub-agents as sessions: a call")
			require.Equal(t, air, said("toolu_s", key+".skill.name").Str == "pdf")
			require.Equal(t, air, said("toolu_m", "_meta.is_mcp_tool_call").Bool())
			require.Equal(t, "Bash", said("toolu_b", "_meta.claudeCode.toolName").Str)
			if !air {
				for _, u := range e.updates(s) {
					require.NotContains(t, u.Raw, "jetbrains")
				}
				require.NotContains(t, opened.Raw+reply.Raw, "jetbrains")
			}
		})
	}
}
