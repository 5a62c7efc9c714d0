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

func TestSessionsThatAreNotOpen(t *testing.T) {
	s := save(t, ct.Script{}, promptLine)
	e := serve(t, s.options())
	e.Initialize(`{}`)
	require.Equal(t, "saved", e.Call("session/status", `{"sessionId":"`+reopened+`"}`).Get("status").Str)
	require.Equal(t, "My plans", e.Call("session/set_title", `{"sessionId":"`+reopened+`","title":" My\n plans"}`).Get("title").Str)
	require.Equal(t, "My plans", e.Call(acp.AgentMethodSessionList, `{}`).Get("sessions.0.title").Str)
	long := e.Call("session/set_title", `{"sessionId":"`+reopened+`","title":"`+strings.Repeat("x", 300)+`"}`).Get("title").Str
	require.Equal(t, 200, len([]rune(long)), "what the CLI keeps of one")
	for _, method := range []string{"session/status", "session/set_title"} {
		_, err := e.Try(method, `{"sessionId":"fedcba98-89ab-4def-8123-456789abcdef","title":"x"}`)
		require.ErrorContains(t, err, "there is no session", method)
	}
	_, err := e.Try("session/set_title", `{"sessionId":"`+reopened+`","title":""}`)
	require.ErrorContains(t, err, "expected a text")
	require.Contains(t, []string{"authenticated", "unauthenticated", "unknown"}, e.Call("auth/status", `{}`).Get("state").Str)
}

// A session that is archived is in no list that does not ask for it, until it is taken
// back or gets a prompt. It is ended first.
func TestArchive(t *testing.T) {
	listed := func(e *editor, params string) (archived []bool) {
		for _, s := range e.Call(acp.AgentMethodSessionList, params).Get("sessions").Array() {
			require.True(t, s.Get("archived").IsBool(), "a client of drafts is told")
			archived = append(archived, s.Get("archived").Bool())
		}
		return archived
	}
	s := save(t, turns(steps{ct.Text("again")}), promptLine)
	e := serve(t, s.options())
	e.Initialize(`{"plan":{}}`)
	require.Equal(t, []bool{false}, listed(e, `{}`))
	e.Call(acp.AgentMethodSessionLoad, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, reopened, s.dir))
	const this = `{"sessionId":"` + reopened + `"}`
	require.Equal(t, "open", e.Call("session/status", this).Get("status").Str)
	for range 2 {
		require.JSONEq(t, `{}`, e.Call("session/archive", this).Raw)
		require.Equal(t, "saved", e.Call("session/status", this).Get("status").Str, "it is ended first")
	}
	require.Empty(t, listed(e, `{}`))
	require.Empty(t, listed(e, `{"archived":"exclude"}`))
	require.Equal(t, []bool{true}, listed(e, `{"archived":"include"}`))
	require.Equal(t, []bool{true}, listed(e, `{"archived":"only"}`))
	e.Call("session/unarchive", this)
	require.Equal(t, []bool{false}, listed(e, `{}`))
	require.Empty(t, listed(e, `{"archived":"only"}`))
	_, err := e.Try(acp.AgentMethodSessionList, `{"archived":"some"}`)
	require.ErrorContains(t, err, "exclude, include or only")
	for _, method := range []string{"session/archive", "session/unarchive"} {
		_, err := e.Try(method, `{"sessionId":"fedcba98-89ab-4def-8123-456789abcdef"}`)
		require.ErrorContains(t, err, "there is no session", method)
	}

	e.Call("session/archive", this)
	old := serve(t, s.options())
	old.Initialize(`{}`)
	got := old.Call(acp.AgentMethodSessionList, `{}`)
	require.Len(t, got.Get("sessions").Array(), 1, "who cannot ask for it has it in the list")
	require.NotContains(t, got.Raw, "archived")
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

// An editor that shows no more of a permission than its title has the plan in the
// conversation before it is asked to approve it.
func TestUnseenPlan(t *testing.T) {
	for name, seen := range map[string]bool{"zed": true, "CodeCompanion.nvim": false, "vscode-acp-client": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, _ := scripted(t, turns(steps{ct.Message(ct.AskTool("toolu_1", "ExitPlanMode", object{"plan": "1. **do** it"}, "", nil))}))
			e.initializeAs(name, `{}`)
			s := e.Open(t.TempDir())
			turn := e.Prompt(s, "plan")
			request := e.Asked("do")
			require.Equal(t, !seen, strings.Contains(e.Said(s), "1. **do** it"))
			request.Selects("default")
			turn.Ends(acp.StopReasonEndTurn)
		})
	}
}
