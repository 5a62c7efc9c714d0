package backend_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// The user is told, once, in the first turn, what of an editor's options is not
// used; it is not used, unless the user trusts the editor.
func TestEditorIsNotTrusted(t *testing.T) {
	given := options(object{
		"allowedTools": []string{"Bash"}, "disallowedTools": []string{"Read"}, "env": object{"PATH\x1b[2J": "x", "A`B": "x"},
		"settings": `{"permissions":{"allow":["Edit"],"deny":["Write"]}}`,
	})
	for _, trust := range []bool{false, true} {
		cli := ct.New(t, turns(steps{ct.Text("one")}, steps{ct.Text("two")}))
		var log acptest.Written
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
		for _, f := range acptest.Must(os.ReadDir(tmp)) {
			require.False(t, strings.HasPrefix(f.Name(), "acp-bridge"), f.Name())
		}
	}
}
