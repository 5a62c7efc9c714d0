package backend_test

import (
	"fmt"
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
			got := e.initialize(caps)
			require.Equal(t, drafts, got.Get("agentCapabilities.auth.status").Exists())
			for _, name := range []string{"title", "status", "systemPrompt"} {
				require.Equal(t, drafts, got.Get("agentCapabilities.sessionCapabilities."+name).Exists(), name)
			}
			s := e.open(t.TempDir())
			turn := e.prompt(s, "plan")
			e.asked("do it").selects("default")
			turn.ends(acp.StopReasonEndTurn)
			require.Equal(t, drafts, turn.resp.Get("usage.totalTokens").Int() > 0)
			shown := false
			for _, u := range e.updates(s) {
				if u.Get("sessionUpdate").Str == "plan_update" {
					shown = true
					require.JSONEq(t, `{"type":"markdown","planId":"plan","content":"1. do it"}`, u.Get("plan").Raw)
				}
			}
			require.Equal(t, caps == `{"plan":{}}`, shown)
		})
	}
}

func TestDraftSystemPrompt(t *testing.T) {
	for prompt, want := range map[string]string{
		`{"mode":"append","content":[{"type":"text","text":"Be"},{"type":"text","text":"brief."}]}`: `{"appendSystemPrompt":"Be\n\nbrief."}`,
		`{"mode":"override","content":[{"type":"text","text":"Be brief."}]}`:                        `{"systemPrompt":["Be brief."]}`,
		`null`: `{}`,
		`{"mode":"replace","content":[{"type":"text","text":"x"}]}`: "append or override",
		`{"mode":"append","content":[{"type":"image","data":"x"}]}`: "expected texts",
		`{"mode":"append","content":[]}`:                            "got none",
	} {
		t.Run(prompt, func(t *testing.T) {
			t.Parallel()
			e, cli := scripted(t, ct.Script{})
			e.initialize(`{"plan":{}}`)
			_, err := e.try(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[],"systemPrompt":%s}`, t.TempDir(), prompt))
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

func TestSessionsThatAreNotOpen(t *testing.T) {
	s := save(t, ct.Script{}, promptLine)
	e := serve(t, s.options())
	e.initialize(`{}`)
	require.Equal(t, "saved", e.call("session/status", `{"sessionId":"`+reopened+`"}`).Get("status").Str)
	require.Equal(t, "My plans", e.call("session/set_title", `{"sessionId":"`+reopened+`","title":" My\n plans"}`).Get("title").Str)
	require.Equal(t, "My plans", e.call(acp.AgentMethodSessionList, `{}`).Get("sessions.0.title").Str)
	for _, method := range []string{"session/status", "session/set_title"} {
		_, err := e.try(method, `{"sessionId":"fedcba98-89ab-4def-8123-456789abcdef","title":"x"}`)
		require.ErrorContains(t, err, "there is no session", method)
	}
	_, err := e.try("session/set_title", `{"sessionId":"`+reopened+`","title":""}`)
	require.ErrorContains(t, err, "expected a text")
	require.Contains(t, []string{"authenticated", "unauthenticated", "unknown"}, e.call("auth/status", `{}`).Get("state").Str)
}
