package backend_test

import (
	"fmt"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// Drafts of the protocol are for clients that declare one; the stable protocol's
// newest are none.
func TestDraftsAreForThoseWhoDeclareThem(t *testing.T) {
	for caps, drafts := range map[string]bool{
		`{}`: false, `{"session":{"notices":{},"compaction":{}}}`: false, `{"plan":null,"subagents":true}`: false,
		`{"plan":{}}`: true, `{"subagents":{}}`: true,
	} {
		t.Run(caps, func(t *testing.T) {
			t.Parallel()
			e, _ := scripted(t, turns(steps{ct.Message(ct.AskTool("toolu_1", "ExitPlanMode", object{"plan": "1. do it"}, "", nil))}))
			got := e.Initialize(caps)
			require.Equal(t, drafts, got.Get("agentCapabilities.auth.status").Exists())
			for _, name := range []string{"title", "status", "archive", "systemPrompt"} {
				require.Equal(t, drafts, got.Get("agentCapabilities.sessionCapabilities."+name).Exists(), name)
			}
			s := e.Open(t.TempDir())
			turn := e.Prompt(s, "plan")
			e.Asked("do it").Selects("default")
			turn.Ends(acp.StopReasonEndTurn)
			require.Equal(t, drafts, turn.Resp.Get("usage.totalTokens").Int() > 0)
			shown := 0
			for _, u := range e.Updates(s) {
				if u.Get("sessionUpdate").Str == "plan_update" {
					shown++
					require.JSONEq(t, `{"type":"markdown","planId":"plan","content":"1. do it"}`, u.Get("plan").Raw)
				}
			}
			require.Equal(t, map[string]int{`{"plan":{}}`: 1}[caps], shown)
		})
	}
}

func TestDraftSystemPrompt(t *testing.T) {
	for prompt, want := range map[string]string{
		`{"mode":"append","content":[{"type":"text","text":"Be"},{"type":"text","text":"brief."}]}`:     `{"appendSystemPrompt":"Be\n\nbrief."}`,
		`{"mode":"override","content":[{"type":"text","text":"Be brief."}]}`:                            `{"systemPrompt":["Be brief."]}`,
		`{"mode":"append","content":[{"type":"text","text":"x"}]},"_meta":{"systemPrompt":"Be brief."}`: `{"systemPrompt":["Be brief."]}`,
		`null`: `{}`,
		`{"mode":"replace","content":[{"type":"text","text":"x"}]}`: "append or override",
		`{"mode":"append","content":[{"type":"image","data":"x"}]}`: "expected texts",
		`{"mode":"append","content":[]}`:                            "got none",
	} {
		t.Run(prompt, func(t *testing.T) {
			t.Parallel()
			e, cli := scripted(t, ct.Script{})
			e.Initialize(`{"plan":{}}`)
			_, err := e.Try(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[],"systemPrompt":%s}`, t.TempDir(), prompt))
			if want[0] != '{' {
				require.ErrorContains(t, err, want)
				return
			}
			require.NoError(t, err)
			told := gjson.ParseBytes(cli.Controls("initialize")[0])
			for _, key := range []string{"appendSystemPrompt", "systemPrompt"} {
				require.Equal(t, gjson.Get(want, key).Raw, told.Get("request."+key).Raw+told.Get(key).Raw)
			}
		})
	}
}

// A session that is loaded shows the plans that were approved in it, to a client that has
// plans as Markdown.
func TestPlansOfATranscript(t *testing.T) {
	call := func(n, plan string) string {
		return fmt.Sprintf(`{"parentUuid":"u1","type":"assistant","message":{"id":"msg_%[1]s","model":"m","content":[{"type":"tool_use","id":"toolu_%[1]s","name":"ExitPlanMode","input":{"plan":%[2]q}}]},"uuid":"a%[1]s"}`, n, plan)
	}
	result := func(n, more string) string {
		return fmt.Sprintf(`{"parentUuid":"a%[1]s","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%[1]s","content":"so be it"%[2]s}]},"uuid":"t%[1]s"}`, n, more)
	}
	lines := []string{promptLine, call("1", "1. no"), result("1", `,"is_error":true`), strings.Replace(call("2", "1. **yes**"), "u1", "t1", 1), result("2", "")}
	for caps, want := range map[string][]string{`{"plan":{}}`: {"1. **yes**"}, `{"subagents":{}}`: nil, `{}`: nil} {
		t.Run(caps, func(t *testing.T) {
			t.Parallel()
			s := save(t, ct.Script{}, lines...)
			e, _ := s.reopen(s.options(), acp.AgentMethodSessionLoad, caps)
			var got []string
			for _, u := range e.Updates(reopened) {
				if u.Get("sessionUpdate").Str == "plan_update" {
					got = append(got, u.Get("plan.content").Str)
				}
			}
			require.Equal(t, want, got)
		})
	}
}
