//go:build unix

package backend_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// inAuto opens a session in auto mode, whose model makes calls with verdicts.
func inAuto(t *testing.T, verdicts map[string]string, commands ...string) (e *editor, api *apitest.Server, s, dir string) {
	t.Helper()
	var r apitest.Reply
	for i, c := range commands {
		id := "toolu_" + string(rune('1'+i))
		r.Blocks = append(r.Blocks, apitest.ToolUse(id, "Bash", object{"command": c, "description": "test"}))
	}
	r.Verdicts = verdicts
	done := apitest.Say("done")
	done.Verdicts = map[string]string{}
	e, api = real(t, r, done, done)
	e.Initialize(`{}`)
	dir = t.TempDir()
	s = e.Open(dir)
	e.Call(acp.AgentMethodSessionSetMode, `{"sessionId":"`+s+`","modeId":"auto"}`)
	return e, api, s, dir
}

// What auto mode's check flags is asked, with the reason; what it does not flag runs.
func TestRealAutoModeAsks(t *testing.T) {
	t.Parallel()
	for name, yes := range map[string]bool{"yes": true, "no": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, api, s, dir := inAuto(t, map[string]string{"toolu_1": "[Destructive] nobody wanted that", "toolu_2": ""}, "sh -c 'touch one'", "sh -c 'touch two'")
			turn := e.Prompt(s, "hello")
			r := e.Asked("touch one")
			require.Equal(t, "Auto mode blocked this: [Destructive] nobody wanted that", r.Get("toolCall.content.0.content.text").Str)
			require.Equal(t, "allow=Allow|reject=Reject", r.Options())
			require.NoFileExists(t, filepath.Join(dir, "one"))
			r.Selects(map[bool]string{true: "allow", false: "reject"}[yes])
			turn.Ends(acp.StopReasonEndTurn)
			require.FileExists(t, filepath.Join(dir, "two"))
			_, err := os.Stat(filepath.Join(dir, "one"))
			require.Equal(t, yes, err == nil)
			require.Equal(t, !yes, told(t, api, "toolu_1").IsError)
			require.Empty(t, e.Requests, "nothing else is asked")
		})
	}
}

// What a sub-agent was blocked for is asked when it does the same again, and no more often.
func TestRealAutoModeSubAgentIsAsked(t *testing.T) {
	t.Parallel()
	for name, yes := range map[string]bool{"yes": true, "no": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judged := func(id, tool, flag string, input object) apitest.Reply {
				r := apitest.Use(apitest.ToolUse(id, tool, input))
				r.Verdicts = map[string]string{id: flag}
				return r
			}
			work := object{"description": "delegate", "prompt": "work of the sub-agent", "subagent_type": "general-purpose", "run_in_background": false}
			done, one := apitest.Say("done"), object{"command": "sh -c 'touch one'", "description": "test"}
			done.Verdicts = map[string]string{}
			e, api := real(t, judged("toolu_a", "Agent", "", work), done, done)
			api.When(func(r apitest.Request) bool {
				return strings.Contains(r.Get("messages.0.content").Raw, "work of the sub-agent")
			},
				judged("toolu_1", "Bash", "nobody wanted that", one), judged("toolu_2", "Bash", "nobody wanted that", one),
				judged("toolu_3", "Bash", "nobody wanted that", one), done)
			e.Initialize(`{}`)
			dir := t.TempDir()
			s := e.Open(dir)
			e.Call(acp.AgentMethodSessionSetMode, `{"sessionId":"`+s+`","modeId":"auto"}`)
			turn := e.Prompt(s, "hello")
			r := e.Asked("touch one")
			require.Equal(t, "Auto mode blocked this: nobody wanted that", r.Get("toolCall.content.0.content.text").Str)
			require.NoFileExists(t, filepath.Join(dir, "one"))
			r.Selects(map[bool]string{true: "allow", false: "reject"}[yes])
			turn.Ends(acp.StopReasonEndTurn)
			_, err := os.Stat(filepath.Join(dir, "one"))
			require.Equal(t, yes, err == nil)
			require.Empty(t, e.Requests, "it is asked once")
		})
	}
}

// From the third block in a row on the CLI asks by itself. What it says to that is in the request.
func TestRealAutoModeThirdBlock(t *testing.T) {
	t.Parallel()
	work := object{"description": "delegate", "prompt": "work of the sub-agent", "subagent_type": "general-purpose", "run_in_background": false}
	judged := func(id, tool, flag string, input object) apitest.Reply {
		r := apitest.Use(apitest.ToolUse(id, tool, input))
		r.Verdicts = map[string]string{id: flag}
		return r
	}
	touch := func(id, file string) apitest.Reply {
		return judged(id, "Bash", "nobody wanted "+file, object{"command": "sh -c 'touch " + file + "'", "description": "test"})
	}
	done := apitest.Say("done")
	done.Verdicts = map[string]string{}
	e, api := real(t, judged("toolu_a", "Agent", "", work), done, done)
	api.When(func(r apitest.Request) bool {
		return strings.Contains(r.Get("messages.0.content").Raw, "work of the sub-agent")
	}, touch("toolu_1", "one"), touch("toolu_2", "two"), touch("toolu_3", "three"), done)
	e.Initialize(`{}`)
	dir := t.TempDir()
	s := e.Open(dir)
	e.Call(acp.AgentMethodSessionSetMode, `{"sessionId":"`+s+`","modeId":"auto"}`)
	turn := e.Prompt(s, "hello")
	r := e.Asked("touch three")
	why := r.Get("toolCall.content.0.content.text").Str
	require.Contains(t, why, "3 consecutive actions were blocked")
	require.Contains(t, why, "nobody wanted three")
	r.Selects("allow")
	turn.Ends(acp.StopReasonEndTurn)
	require.FileExists(t, filepath.Join(dir, "three"))
	require.NoFileExists(t, filepath.Join(dir, "one"))
}

// The prompt is cancelled, the request dismissed, or the CLI dies, while a flagged call is asked:
// it does not run.
func TestRealAutoModeEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, *editor, string, *acptest.Request){
		"cancelled": func(_ *testing.T, e *editor, s string, r *acptest.Request) { e.Cancel(s); <-r.Withdrawn },
		"dismissed": func(_ *testing.T, _ *editor, _ string, r *acptest.Request) { r.Cancels() },
		"killed":    func(t *testing.T, _ *editor, s string, r *acptest.Request) { killClaude(t, s); <-r.Withdrawn },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, _, s, dir := inAuto(t, map[string]string{"toolu_1": "no"}, "sh -c 'touch one'")
			turn := e.Prompt(s, "hello")
			r := e.Asked("touch one")
			end(t, e, s, r)
			if name == "killed" {
				turn.Fails("ended by a signal")
			} else {
				turn.Ends(acp.StopReasonCancelled)
			}
			require.NoFileExists(t, filepath.Join(dir, "one"))
		})
	}
}

// A model behind a gateway is not checked, and the CLI then denies everything: it is asked.
func TestRealAutoModeUnchecked(t *testing.T) {
	t.Parallel()
	e, _, s, dir := inAuto(t, nil, "sh -c 'touch one'")
	turn := e.Prompt(s, "hello")
	e.Asked("Auto mode cannot check this here.").Selects("allow")
	turn.Ends(acp.StopReasonEndTurn)
	require.FileExists(t, filepath.Join(dir, "one"))
}

// While it plans there, the CLI denies what its check would have to see, and runs the rest. What
// was denied is asked when it is made again.
func TestRealAutoModeUncheckedInPlan(t *testing.T) {
	t.Parallel()
	for name, yes := range map[string]bool{"allow": true, "reject": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			again := object{"command": "sh -c 'touch one'", "description": "test"}
			e, api, s, dir := inAuto(t, nil, "sh -c 'touch one'", "ls")
			api.When(func(r apitest.Request) bool {
				_, denied := r.ToolResult("toolu_1")
				_, made := r.ToolResult("toolu_3")
				return denied && !made
			}, apitest.Use(apitest.ToolUse("toolu_3", "Bash", again)))
			e.Call(acp.AgentMethodSessionSetMode, `{"sessionId":"`+s+`","modeId":"plan"}`)
			turn := e.Prompt(s, "hello")
			e.Asked("Auto mode cannot check this here.").Selects(name)
			turn.Ends(acp.StopReasonEndTurn)
			require.True(t, told(t, api, "toolu_1").IsError)
			require.False(t, told(t, api, "toolu_2").IsError)
			require.Equal(t, !yes, told(t, api, "toolu_3").IsError)
			_, err := os.Stat(filepath.Join(dir, "one"))
			require.Equal(t, yes, err == nil)
			require.Empty(t, e.Requests, "nothing else is asked")
		})
	}
}

// While Claude Code plans its check is the same: what that flags is asked, and the rest runs.
func TestRealAutoModeInPlan(t *testing.T) {
	t.Parallel()
	e, _, s, dir := inAuto(t, map[string]string{"toolu_1": "no", "toolu_2": ""}, "sh -c 'touch one'", "sh -c 'touch two'")
	e.Call(acp.AgentMethodSessionSetMode, `{"sessionId":"`+s+`","modeId":"plan"}`)
	turn := e.Prompt(s, "hello")
	e.Asked("Auto mode blocked this: no").Selects("reject")
	turn.Ends(acp.StopReasonEndTurn)
	require.NoFileExists(t, filepath.Join(dir, "one"))
	require.FileExists(t, filepath.Join(dir, "two"))
	require.Empty(t, e.Requests, "nothing else is asked")
}

// In other modes a verdict asks nothing.
func TestRealOtherModesAskNoMore(t *testing.T) {
	t.Parallel()
	e, _, s, dir := inAuto(t, map[string]string{"toolu_1": "no"}, "touch one")
	e.Call(acp.AgentMethodSessionSetMode, `{"sessionId":"`+s+`","modeId":"acceptEdits"}`)
	e.Prompt(s, "hello").Ends(acp.StopReasonEndTurn)
	require.FileExists(t, filepath.Join(dir, "one"))
}
