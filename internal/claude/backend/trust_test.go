package backend_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// Neither settings nor sub-agents of an editor raise what the user's own arguments
// allow, in whatever form they come.
func TestSettingsDoNotRaise(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "settings.json")
	const bypass = `{"permissions":{"defaultMode":"bypassPermissions"}}`
	require.NoError(t, os.WriteFile(file, []byte(bypass), 0o600))
	for name, given := range map[string]object{
		"an object":       {"settings": json.RawMessage(bypass)},
		"its text":        {"settings": " " + bypass},
		"a file":          {"settings": file},
		"a relative file": {"settings": "settings.json"},
		"another case":    {"settings": json.RawMessage(`{"permissions":{"DefaultMode":"BypassPermissions"}}`)},
		"another place":   {"settings": json.RawMessage(`{"x":[{"skipDangerousModePermissionPrompt":true}]}`)},
		"a sub-agent":     {"agents": json.RawMessage(`{"x":{"description":"d","prompt":"p","permissionMode":"bypassPermissions"}}`)},
	} {
		t.Run(name, func(t *testing.T) {
			params, err := json.Marshal(object{"cwd": dir, "mcpServers": []any{}, "_meta": options(given)})
			require.NoError(t, err)
			e, cli := scripted(t, turns())
			e.Initialize(`{}`)
			_, err = e.Try(acp.AgentMethodSessionNew, string(params))
			var re *acp.RequestError
			require.ErrorAs(t, err, &re)
			require.Equal(t, -32602, re.Code)
			require.Contains(t, re.Message, "without asking")
			require.Empty(t, cli.Starts(), "nothing was started")

			cli = ct.New(t, turns())
			e = serve(t, backend.Options{Claude: cli.Path, Args: []string{"--allow-dangerously-skip-permissions"}})
			e.Initialize(`{}`)
			_, err = e.Try(acp.AgentMethodSessionNew, string(params))
			require.NoError(t, err, "the user allows it")
		})
	}
}

// A mode that asks for nothing and that the editor's environment may have chosen
// is not used.
func TestModeOfTheEditorsEnvironment(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		meta, want string
		args       []string
	}{
		{`{"claudeCode":{"options":{"env":{"CLAUDE_CONFIG_DIR":"/other"}}}}`, "default", nil},
		{`{"claudeCode":{"options":{"plugins":[{"type":"local","path":"x"}]}}}`, "default", nil},
		{`{"claudeCode":{"options":{"env":{"CLAUDE_CONFIG_DIR":"/other"}}}}`, "bypassPermissions", []string{"--permission-mode=bypassPermissions"}},
		{`{}`, "bypassPermissions", nil}, // the user's own settings
	} {
		cli := ct.New(t, ct.Script{Init: map[string]any{"current_permission_mode": "bypassPermissions"}})
		e := serve(t, backend.Options{Claude: cli.Path, Args: tc.args, TrustEditor: true})
		e.Initialize(`{}`)
		opened := e.Call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[],"_meta":%s}`, t.TempDir(), tc.meta))
		require.Equal(t, tc.want, opened.Get("modes.currentModeId").Str, tc.meta)
	}
}

// The user is told, once, in the first turn, what of an editor's options is not
// used; it is not used, unless the user trusts the editor.
func TestEditorIsNotTrusted(t *testing.T) {
	given := options(object{
		"allowedTools": []string{"Bash"}, "disallowedTools": []string{"Read"}, "env": object{"PATH\x1b[2J": "x", "A`B": "x"},
		"settings": `{"permissions":{"allow":["Edit"],"deny":["Write"]}}`,
	})
	for _, trust := range []bool{false, true} {
		cli := ct.New(t, turns(steps{ct.Text("one")}, steps{ct.Text("two")}))
		var log syncBuffer
		e := serve(t, backend.Options{Claude: cli.Path, TrustEditor: trust, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		e.Initialize(`{}`)
		s := e.openWith(given).Get("sessionId").Str
		e.Prompt(s, "a").Ends(acp.StopReasonEndTurn)
		e.Prompt(s, "b").Ends(acp.StopReasonEndTurn)
		args := strings.Join(cli.Starts()[0].Args, " ")
		require.Contains(t, args, "--disallowedTools=Read")
		if trust {
			require.Contains(t, args, "--allowedTools=Bash")
			require.Equal(t, "onetwo", e.Said(s))
			require.NotContains(t, log.String(), "trust-editor")
			continue
		}
		require.NotContains(t, args, "Bash")
		require.Equal(t, "Your editor sent options that could let Claude Code act without asking you. They are ignored: "+
			"`allowedTools`, `` env.A`B ``, `env.PATH`, `settings.permissions.allow`. To allow them, start acp-bridge with `--trust-editor`.\n\nonetwo", e.Said(s))
		require.Equal(t, 1, strings.Count(log.String(), "--trust-editor"))
	}
}

// Settings of an editor are neither on the command line nor in a file that has a
// name.
func TestSettingsAreNotOnTheCommandLine(t *testing.T) {
	tmp, dir := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", tmp)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "s.json"), []byte(`{"env":{"A":"hush-3"}}`), 0o600))
	for _, settings := range []string{`{"env":{"A":"hush-1"}}`, filepath.Join(dir, "s.json")} {
		e, cli := scripted(t, turns())
		e.Initialize(`{}`)
		e.openWith(options(object{"settings": settings, "mcpServers": object{"m": object{"type": "stdio", "command": "x", "env": object{"K": "hush-2"}}}}))
		require.NotContains(t, strings.Join(cli.Starts()[0].Args, " "), "hush-")
		left, err := os.ReadDir(tmp)
		require.NoError(t, err)
		for _, f := range left {
			require.False(t, strings.HasPrefix(f.Name(), "acp-bridge"), f.Name())
		}
	}
}

// The callback before a call has its reply once the verdict is there or will not come,
// whatever the order, and in auto mode alone.
func TestAutoModeVerdicts(t *testing.T) {
	event := func(text string) string { return `{"type":"stream_event","event":` + text + `}` }
	hook := func(mode, tool string) string {
		return fmt.Sprintf(`{"type":"control_request","request_id":"r1","request":{"subtype":"hook_callback","callback_id":"acp-bridge-auto","input":{"permission_mode":%q,"tool_name":%q,"tool_use_id":"t1"}}}`, mode, tool)
	}
	verdict := func(status string) string {
		return event(`{"type":"message_delta","delta":{"safeguard_results":[{"type":"dangerous_tool_use","status":` + status + `}]}}`)
	}
	start, stop, call := event(`{"type":"message_start","message":{"id":"m1"}}`), event(`{"type":"message_stop"}`), hook("auto", "Bash")
	flagged := verdict(`{"type":"available","tool_uses":{"t1":{"type":"evaluated","outcome":"flagged","explanation":"why"}}}`)
	assistant := `{"type":"assistant","message":{"id":%q,"content":[]}}`
	const blocked, unchecked = "Auto mode blocked this: why", "Auto mode cannot check this here."
	for name, c := range map[string]struct {
		lines []string
		ask   string
	}{
		"flagged":                 {[]string{start, call, fmt.Sprintf(assistant, "m1"), flagged, stop}, blocked},
		"the call comes last":     {[]string{start, flagged, stop, call}, blocked},
		"not flagged":             {[]string{start, call, verdict(`{"type":"available","tool_uses":{"t1":{"type":"evaluated","outcome":"not_flagged"}}}`), stop}, ""},
		"another call is flagged": {[]string{start, call, verdict(`{"type":"available","tool_uses":{"t2":{"outcome":"flagged"}}}`), stop}, ""},
		"this one is not known":   {[]string{start, call, verdict(`{"type":"available","tool_uses":{"t1":{"type":"unavailable"}}}`), stop}, unchecked},
		"no check":                {[]string{start, call, verdict(`{"type":"unavailable"}`), stop}, unchecked},
		"no verdicts":             {[]string{start, call, stop}, unchecked},
		"no verdicts, it reads":   {[]string{start, hook("auto", "Read"), stop}, ""},
		"the stream broke off":    {[]string{start, call, fmt.Sprintf(assistant, "m2")}, unchecked},
		"of the message before":   {[]string{start, flagged, stop, start, call, stop}, unchecked},
		"another mode":            {[]string{start, hook("default", "Bash")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, cli := scripted(t, turns(steps{ct.Raw(c.lines...), ct.Wait("told")}))
			turn := e.Prompt(e.Ready(), "hello")
			var reply gjson.Result
			cli.Await("the hook's reply", func(lines []ct.Line) bool {
				return slices.ContainsFunc(lines, func(l ct.Line) bool {
					reply = gjson.GetBytes(l.Raw, "response")
					return reply.Get("request_id").Str == "r1"
				})
			})
			require.Equal(t, c.ask, reply.Get("response.hookSpecificOutput.permissionDecisionReason").Str)
			require.Equal(t, c.ask != "", reply.Get("response.hookSpecificOutput.permissionDecision").Str == "ask")
			cli.Release("told")
			turn.Ends(acp.StopReasonEndTurn)
		})
	}
}
