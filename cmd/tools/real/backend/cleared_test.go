//go:build unix

package backend_test

import (
	"fmt"
	"path/filepath"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
)

// The real CLI goes on under another id after /clear. Whoever loads the session next finds
// what was said since, and nothing of before.
func TestRealClearedSessionIsLoaded(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	path, api := realClaude(t), apitest.New(t)
	api.Script(apitest.Say("Before it."), apitest.Say("Behind it."), apitest.Say("Much later."), apitest.Say("In a fork."))
	o := backend.Options{Claude: path, Env: append(apitest.Env(api, home), "XDG_STATE_HOME="+home)}
	load := func(s string) *editor {
		e := serve(t, o)
		e.Initialize(`{}`)
		e.Call(acp.AgentMethodSessionLoad, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, s, dir))
		return e
	}
	e := serve(t, o)
	e.Initialize(`{}`)
	s := e.Open(dir)
	e.Prompt(s, "first").Ends(acp.StopReasonEndTurn)
	e.Prompt(s, "/clear").Ends(acp.StopReasonEndTurn)
	e.Leave()

	e = load(s)
	require.NotContains(t, e.Said(s), "Before it.")
	require.Empty(t, e.Text(s, "user_message_chunk"))
	list := e.Call(acp.AgentMethodSessionList, fmt.Sprintf(`{"cwd":%q}`, dir))
	require.Equal(t, `["`+s+`"]`, list.Get("sessions.#.sessionId").Raw, "nothing was said since")
	e.Prompt(s, "second").Ends(acp.StopReasonEndTurn)
	e.Leave()

	e = load(s)
	require.NotContains(t, e.Said(s), "Before it.")
	require.Contains(t, e.Said(s), "Behind it.")
	e.Prompt(s, "third").Ends(acp.StopReasonEndTurn)
	all := api.Main()
	body := string(all[len(all)-1].Body)
	require.Contains(t, body, "Behind it.")
	require.NotContains(t, body, "Before it.")
	require.Len(t, all, 3)

	// It is listed once, forked as it is now, and deleted as a whole.
	list = e.Call(acp.AgentMethodSessionList, fmt.Sprintf(`{"cwd":%q}`, dir))
	require.Equal(t, `["`+s+`"]`, list.Get("sessions.#.sessionId").Raw)
	e.Leave()
	e = serve(t, o)
	e.Initialize(`{}`)
	fork := e.Call(acp.AgentMethodSessionFork, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, s, dir)).Get("sessionId").Str
	e.Prompt(fork, "fourth").Ends(acp.StopReasonEndTurn)
	all = api.Main()
	require.Contains(t, string(all[3].Body), "Much later.")
	require.NotContains(t, string(all[3].Body), "Before it.")
	e.Call(acp.AgentMethodSessionDelete, fmt.Sprintf(`{"sessionId":%q}`, s))
	list = e.Call(acp.AgentMethodSessionList, fmt.Sprintf(`{"cwd":%q}`, dir))
	require.Equal(t, `["`+fork+`"]`, list.Get("sessions.#.sessionId").Raw)
	files, err := filepath.Glob(filepath.Join(transcript.Dir(filepath.Join(home, ".claude"), dir), "*.jsonl"))
	require.NoError(t, err)
	require.Len(t, files, 1)
}
