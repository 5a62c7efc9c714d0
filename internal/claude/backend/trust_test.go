package backend_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

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
			e.initialize(`{}`)
			_, err = e.try(acp.AgentMethodSessionNew, string(params))
			var re *acp.RequestError
			require.ErrorAs(t, err, &re)
			require.Equal(t, -32602, re.Code)
			require.Contains(t, re.Message, "without asking")
			require.Empty(t, cli.Starts(), "nothing was started")

			cli = ct.New(t, turns())
			e = serve(t, backend.Options{Claude: cli.Path, Args: []string{"--allow-dangerously-skip-permissions"}})
			e.initialize(`{}`)
			_, err = e.try(acp.AgentMethodSessionNew, string(params))
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
		e.initialize(`{}`)
		opened := e.call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[],"_meta":%s}`, t.TempDir(), tc.meta))
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
		e.initialize(`{}`)
		s := e.openWith(given).Get("sessionId").Str
		e.prompt(s, "a").ends(acp.StopReasonEndTurn)
		e.prompt(s, "b").ends(acp.StopReasonEndTurn)
		args := strings.Join(cli.Starts()[0].Args, " ")
		require.Contains(t, args, "--disallowedTools=Read")
		if trust {
			require.Contains(t, args, "--allowedTools=Bash")
			require.Equal(t, "onetwo", e.said(s))
			require.NotContains(t, log.String(), "trust-editor")
			continue
		}
		require.NotContains(t, args, "Bash")
		require.Equal(t, "Your editor sent options that could let Claude Code act without asking you. They are ignored: "+
			"`allowedTools`, `` env.A`B ``, `env.PATH`, `settings.permissions.allow`. To allow them, start acp-bridge with `--trust-editor`.\n\nonetwo", e.said(s))
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
		e.initialize(`{}`)
		e.openWith(options(object{"settings": settings, "mcpServers": object{"m": object{"type": "stdio", "command": "x", "env": object{"K": "hush-2"}}}}))
		require.NotContains(t, strings.Join(cli.Starts()[0].Args, " "), "hush-")
		left, err := os.ReadDir(tmp)
		require.NoError(t, err)
		for _, f := range left {
			require.False(t, strings.HasPrefix(f.Name(), "acp-bridge"), f.Name())
		}
	}
}
