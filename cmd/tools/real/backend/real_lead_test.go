//go:build unix

package backend_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
)

// An agent of the project leads the conversation if the user picks it at the start, and
// what was picked is there when the session is loaded.
func TestRealLead(t *testing.T) {
	t.Parallel()
	path := realClaude(t)
	api := apitest.New(t)
	home, dir := t.TempDir(), t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, ".claude", "agents"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".claude", "agents", "reviewer.md"),
		[]byte("---\nname: reviewer\ndescription: Reviews code\n---\nYou are the STRICT-REVIEWER.\n"), 0o600))
	run := func(args ...string) *editor {
		e := serve(t, backend.Options{Claude: path, Args: args, Env: append(apitest.Env(api, home), "XDG_STATE_HOME="+filepath.Join(home, "state"))})
		e.Initialize(`{}`)
		return e
	}
	leads := func(e *editor, s string) bool {
		e.Prompt(s, "hi").Ends(acp.StopReasonEndTurn)
		return lastBody(api).Contains("STRICT-REVIEWER")
	}
	open := func(e *editor, more string) (string, string) {
		opened := e.Call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[]%s}`, dir, more))
		lead := option(opened.Get("configOptions"), "agent")
		require.Equal(t, "default reviewer", values(lead))
		return opened.Get("sessionId").Str, lead.Get("currentValue").Str
	}

	e := run()
	s, lead := open(e, "")
	require.Equal(t, "default", lead)
	require.Contains(t, e.refused(s, "agent", `"clippy"`), `unknown agent "clippy": expected default, reviewer`)
	require.Equal(t, "reviewer", option(e.sets(s, "agent", `"reviewer"`), "agent").Get("currentValue").Str)
	e.sets(s, "effort", `"low"`)
	require.True(t, leads(e, s))
	require.Contains(t, e.refused(s, "agent", `"default"`), "before the first prompt")
	require.Equal(t, "reviewer", option(e.sets(s, "agent", `"reviewer"`), "agent").Get("currentValue").Str)

	again := run()
	loaded := again.Call(acp.AgentMethodSessionLoad, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, s, dir)).Get("configOptions")
	require.Equal(t, "reviewer", option(loaded, "agent").Get("currentValue").Str)
	require.Equal(t, "low", option(loaded, "effort").Get("currentValue").Str)
	require.True(t, leads(again, s))
	require.Equal(t, "low", lastBody(api).Get("output_config.effort").Str)

	for name, from := range map[string]struct {
		args []string
		meta string
	}{
		"the command line": {args: []string{"--agent", "reviewer"}},
		"the editor":       {meta: `,"_meta":{"claudeCode":{"options":{"agent":"reviewer"}}}`},
	} {
		e := run(from.args...)
		s, lead := open(e, from.meta)
		require.Equal(t, "reviewer", lead, name)
		require.True(t, leads(e, s), name)
		s, _ = open(e, from.meta)
		e.sets(s, "agent", `"default"`)
		require.False(t, leads(e, s), name)
	}
}
