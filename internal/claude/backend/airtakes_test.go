package backend_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

const airKey = "_meta.jetbrains.air"

// airWith are the capabilities of an AIR that names some of its own.
func airWith(names ...string) string {
	list, _ := json.Marshal(append([]string{}, names...))
	return `{"_meta":{"jetbrains":{"air":{"version":1,"capabilities":` + string(list) + `}}}}`
}

// Each extension is for an AIR that names it, in a version that it has.
func TestAIRNamesWhatItTakes(t *testing.T) {
	e, _ := scripted(t, ct.Script{})
	require.JSONEq(t, `["sessionFailure","agentFileChangeReport","recommendedValue","planFile"]`, e.Initialize(airWith()).Get(airKey+".capabilities").Raw)
	models := []object{{"value": "default", "resolvedModel": "m-1", "displayName": "Default", "supportsEffort": true, "supportedEffortLevels": []string{"low", "medium", "high"}},
		{"value": "one", "resolvedModel": "m-1", "displayName": "One"}, {"value": "two", "resolvedModel": "m-2", "displayName": "Two"}}
	for caps, recommended := range map[string]bool{
		airWith("recommendedValue"): true, airWith("planFile"): false, airWith(): false,
		strings.Replace(airWith("recommendedValue"), `"version":1`, `"version":0`, 1):   false,
		strings.Replace(airWith("recommendedValue"), `"version":1`, `"version":"1"`, 1): false,
	} {
		e, _ := scripted(t, ct.Script{Init: object{"models": models}})
		e.Initialize(caps)
		opened := e.Call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, t.TempDir()))
		model, effort := opened.Get(`configOptions.#(id=="model")`), opened.Get(`configOptions.#(id=="effort")`)
		if !recommended {
			require.Equal(t, "default default", model.Get("currentValue").Str+" "+effort.Get("currentValue").Str, caps)
			require.NotContains(t, opened.Raw, "recommendedValue")
			continue
		}
		require.Equal(t, "one medium", model.Get("currentValue").Str+" "+effort.Get("currentValue").Str)
		require.Equal(t, "one medium", model.Get(airKey+".recommendedValue").Str+" "+effort.Get(airKey+".recommendedValue").Str)
		require.JSONEq(t, `["one","two"]`, model.Get("options.#.value").Raw)
		require.JSONEq(t, `["low","medium","high"]`, effort.Get("options.#.value").Raw)
		s := opened.Get("sessionId").Str
		after := e.Call(acp.AgentMethodSessionSetConfigOption, `{"sessionId":"`+s+`","configId":"model","value":"two"}`)
		require.Equal(t, "two", after.Get(`configOptions.#(id=="model").currentValue`).Str)
		require.Equal(t, "one", after.Get(`configOptions.#(id=="model").`+airKey+".recommendedValue").Str)
	}
}

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
			reply := e.Initialize(caps)
			require.Equal(t, air, reply.Get(key+".version").Int() == 1, reply.Raw)
			opened := e.Call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, t.TempDir()))
			s := opened.Get("sessionId").Str
			kinds := map[string]string{}
			for _, m := range opened.Get("modes.availableModes").Array() {
				kinds[m.Get("id").Str] = m.Get(key + ".kind").Str
			}
			if air {
				require.Equal(t, map[string]string{"default": "standard", "acceptEdits": "standard", "plan": "plan", "auto": "auto_review", "dontAsk": ""}, kinds)
				require.Equal(t, "plan", opened.Get(`configOptions.#(id=="mode").options.#(value=="plan").`+key+".kind").Str, opened.Raw)
			}
			turn := e.Prompt(s, "go")
			r := e.Asked("ls")
			require.Equal(t, air, r.Get(key+".permission.title").Str == "ls", r.Raw)
			r.Selects("allow")
			turn.Ends(acp.StopReasonEndTurn)
			said := func(call, field string) (last gjson.Result) {
				for _, u := range e.Updates(s) {
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
				for _, u := range e.Updates(s) {
					require.NotContains(t, u.Raw, "jetbrains")
				}
				require.NotContains(t, opened.Raw+reply.Raw, "jetbrains")
			}
		})
	}
}
