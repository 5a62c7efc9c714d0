//go:build unix

package backend_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
)

// The real CLI, with a question that is open at each of these ends.
func TestRealOpenQuestionIsAskedAgain(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"the editor leaves", "the CLI is killed", "acp-bridge is stopped"} {
		home, dir := t.TempDir(), t.TempDir()
		path, api := realClaude(t), apitest.New(t)
		ask := asks("toolu_1", question("Which database?", "Database", false, "PostgreSQL", "SQLite"))
		api.Script(apitest.Say("Hello."), apitest.Use(ask), apitest.Say("SQLite it is."))
		o := backend.Options{Claude: path, Env: append(apitest.Env(api, home), "XDG_STATE_HOME="+home)}
		ctx, stop := contextWithCancel(t)
		e := serveUntil(ctx, t, o)
		e.Initialize(`{}`)
		s := e.Open(dir)
		e.Prompt(s, "first").Ends(acp.StopReasonEndTurn)
		turn := e.Prompt(s, "second")
		e.Asked("Which database?")
		switch end {
		case "the CLI is killed":
			awaitLine(t, home, s, dir, "toolu_1")
			killClaude(t, s)
			turn.Failed()
		case "acp-bridge is stopped":
			stop()
		}
		e.Leave()

		e = serve(t, o)
		e.Initialize(`{}`)
		e.Call(acp.AgentMethodSessionLoad, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, s, dir))
		e.Asked("Which database?").Selects("SQLite")
		require.Equal(t, "end_turn", e.Call(backend.WaitMethod, `{"sessionId":"`+s+`"}`).Get("stopReason").Str)
		require.Contains(t, e.Said(s), "SQLite it is.")
		all := api.Main()
		require.Contains(t, string(all[len(all)-1].Body), `- Which database?\n  SQLite`)
		e.Leave()

		// It is answered: nothing is asked any more.
		e = serve(t, o)
		e.Initialize(`{}`)
		reply := e.Call(acp.AgentMethodSessionLoad, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, s, dir))
		require.False(t, reply.Get("_meta.acp-bridge").Exists())
		e.Leave()
	}
}

// The real CLI, in a client that shows nothing between prompts: after the reopening each
// message is answered in its own prompt, and what is asked next is asked there.
func TestRealQuestionAskedAgainBetweenPrompts(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	path, api := realClaude(t), apitest.New(t)
	api.Script(
		apitest.Use(asks("toolu_1", question("Which database?", "Database", false, "PostgreSQL", "SQLite"))),
		apitest.Use(asks("toolu_2", question("Which licence?", "Licence", false, "MIT", "Apache"))),
		apitest.Use(apitest.ToolUse("toolu_3", "Bash", object{"command": "touch x", "description": "test"})),
		apitest.Say("All done."))
	o := backend.Options{Claude: path, Env: append(apitest.Env(api, home), "XDG_STATE_HOME="+home)}
	e := serve(t, o)
	e.initializeAs("CodeCompanion.nvim", `{}`)
	s := e.Open(dir)
	e.Prompt(s, "first").Ends(acp.StopReasonEndTurn)
	e.Leave()

	e = serve(t, o)
	e.initializeAs("CodeCompanion.nvim", `{}`)
	e.Call(acp.AgentMethodSessionLoad, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, s, dir))
	waitsFor := func(text, call string) {
		t.Helper()
		turn := e.Prompt(s, text)
		turn.Ends(acp.StopReasonEndTurn)
		require.Regexp(t, call, turn.Resp.Get("_meta.acp-bridge.waitingFor").Str)
	}
	e.saying(s, "2. SQLite")
	waitsFor("hello?", "^toolu_1-.") // a tool call of its own
	waitsFor("2", "^toolu_2$")
	require.Contains(t, e.Said(s), "Which licence?")
	turn := e.Prompt(s, "Apache")
	r := e.Asked("touch x")
	turn.Runs()
	r.Selects("allow")
	turn.Ends(acp.StopReasonEndTurn)
	require.True(t, strings.HasSuffix(e.Said(s), "All done."))
	require.Contains(t, told(t, api, "toolu_2").Text, `"Which licence?"="Apache"`)
	all := api.Main()
	require.Contains(t, string(all[len(all)-1].Body), `- Which database?\n  SQLite`)
	require.NotContains(t, string(all[len(all)-1].Body), "hello?")
}

// The real CLI: a question that the user dismissed is not asked again.
func TestRealDismissedQuestionIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	path, api := realClaude(t), apitest.New(t)
	api.Script(apitest.Say("Hello."), apitest.Use(asks("toolu_1", question("Which database?", "Database", false, "PostgreSQL", "SQLite"))))
	o := backend.Options{Claude: path, Env: append(apitest.Env(api, home), "XDG_STATE_HOME="+home)}
	e := serve(t, o)
	e.Initialize(`{}`)
	s := e.Open(dir)
	e.Prompt(s, "first").Ends(acp.StopReasonEndTurn)
	turn := e.Prompt(s, "second")
	e.Asked("Which database?").Cancels()
	turn.Ends(acp.StopReasonCancelled)
	e.Leave()
	e = serve(t, o)
	e.Initialize(`{}`)
	reply := e.Call(acp.AgentMethodSessionLoad, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, s, dir))
	require.False(t, reply.Get("_meta.acp-bridge").Exists())
	e.Leave()
}

// awaitLine waits until the CLI has written something into its transcript, which
// it does some time after it has happened.
func awaitLine(t *testing.T, home, session, dir, what string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(acptest.Patience); ; {
		if path, err := transcript.Find(filepath.Join(home, ".claude"), session, dir); err == nil {
			if data, _ := os.ReadFile(path); strings.Contains(string(data), what) {
				return
			}
		}
		select {
		case <-tick.C:
		case <-end:
			require.Fail(t, "the transcript does not have it", what)
		}
	}
}
