//go:build unix

package backend_test

import (
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
)

// Zed's way with the real CLI: one form for the call, values sorted by the
// client, a note, words, and a question left empty.
func TestRealForm(t *testing.T) {
	t.Parallel()
	e, api := real(t, apitest.Use(asks("toolu_1",
		question("Which database?", "Database", false, "PostgreSQL", "SQLite"),
		question("Which features?", "Features", true, "Logs, metrics", "Auth", "Cache"),
		question("Which licence?", "Licence", false, "MIT", "Apache"),
		question("Which port?", "Port", false, "80", "8080"),
	)), apitest.Say("Noted."))
	e.initializeAs("zed", `{"elicitation":{"form":{}}}`)
	s := e.Open(t.TempDir())
	turn := e.Prompt(s, "hello")
	r := e.Asked("requestedSchema")
	require.Equal(t, "toolu_1", r.Get("toolCallId").Str)
	r.Answer <- object{"action": "accept", "content": object{
		"question_0": "SQLite", "question_0_custom": "one file",
		"question_1":        []string{"Auth", "Logs, metrics"},
		"question_2_custom": "BSD, please",
	}}
	turn.Ends(acp.StopReasonEndTurn)
	got := told(t, api, "toolu_1").Text
	for _, want := range []string{`"Which database?"="SQLite"`, "one file", `"Which licence?"="BSD, please"`, "Logs, metrics"} {
		require.Contains(t, got, want)
	}
	require.NotContains(t, got, "Which port?")
	tool := e.Tool(s, "toolu_1")
	require.Equal(t, "completed", tool["status"])
	require.Equal(t, "form", tool["rung"])
	require.Contains(t, tool["content"], "Which port? → (not answered)")
}

func TestRealFormDeclinedAndCancelled(t *testing.T) {
	t.Parallel()
	e, api := real(t, apitest.Use(asks("toolu_1", question("Which?", "H", false, "a", "b"))), apitest.Say("Then I go on."),
		apitest.Use(asks("toolu_2", question("Which?", "H", false, "a", "b"))), apitest.Say("third turn"))
	e.initializeAs("zed", `{"elicitation":{"form":{}}}`)
	s := e.Open(t.TempDir())
	turn := e.Prompt(s, "hello")
	e.Asked("requestedSchema").Answer <- object{"action": "decline"}
	turn.Ends(acp.StopReasonEndTurn)
	require.Contains(t, told(t, api, "toolu_1").Text, "User declined to answer")
	require.Equal(t, "Then I go on.", e.Said(s))

	turn = e.Prompt(s, "again")
	e.Asked("requestedSchema").Answer <- object{"action": "cancel"}
	turn.Ends(acp.StopReasonCancelled)
	require.Equal(t, "failed", e.Tool(s, "toolu_2")["status"])
	e.Prompt(s, "once more").Ends(acp.StopReasonEndTurn)
	require.Contains(t, e.Said(s), "third turn")
}

// CodeCompanion's way with the real CLI: two questions in the conversation,
// and the turn goes on in the prompt that answers the second.
func TestRealMessage(t *testing.T) {
	t.Parallel()
	e, api := real(t, apitest.Use(apitest.Text("Let me ask."), asks("toolu_1",
		question("Which database?", "Database", false, "PostgreSQL", "SQLite"),
		question("Which features?", "Features", true, "Auth", "Cache", "Logs"))), apitest.Say("Noted."), apitest.Say(" second turn"))
	e.initializeAs("CodeCompanion.nvim", `{}`)
	s := e.Open(t.TempDir())
	turn := e.Prompt(s, "hello")
	turn.Ends(acp.StopReasonEndTurn)
	require.Equal(t, "toolu_1", turn.Resp.Get("_meta.acp-bridge.waitingFor").Str)
	require.Contains(t, e.Said(s), "2. SQLite - about SQLite")
	require.Len(t, api.Main(), 1)

	turn = e.Prompt(s, "sqlite")
	turn.Ends(acp.StopReasonEndTurn)
	require.Equal(t, "toolu_1:2", turn.Resp.Get("_meta.acp-bridge.waitingFor").Str)
	e.Prompt(s, "3, 1").Ends(acp.StopReasonEndTurn)
	got := told(t, api, "toolu_1").Text
	require.Contains(t, got, `"Which database?"="SQLite"`)
	require.Contains(t, got, `"Which features?"="Auth, Logs"`)
	require.Equal(t, "message", e.Tool(s, "toolu_1:2")["rung"])

	e.Prompt(s, "go on").Ends(acp.StopReasonEndTurn)
	require.Contains(t, e.Said(s), "Noted. second turn")
	require.Empty(t, e.Requests)
}

func TestRealMessageCancelled(t *testing.T) {
	t.Parallel()
	for name, cancel := range map[string]func(*editor, string){
		"by a word":         func(e *editor, s string) { e.Prompt(s, "cancel").Ends(acp.StopReasonEndTurn) },
		"by session/cancel": func(e *editor, s string) { e.Cancel(s) },
	} {
		t.Run(name, func(t *testing.T) {
			e, api := real(t, apitest.Use(asks("toolu_1", question("Which?", "H", false, "a", "b"))), apitest.Say("second turn"))
			e.initializeAs("CodeCompanion.nvim", `{}`)
			s := e.Open(t.TempDir())
			e.Prompt(s, "hello").Ends(acp.StopReasonEndTurn)
			cancel(e, s)
			e.Prompt(s, "a").Ends(acp.StopReasonEndTurn)
			require.Contains(t, e.Said(s), "second turn")
			require.Equal(t, "failed", e.Tool(s, "toolu_1")["status"])
			require.Len(t, api.Main(), 2, "the prompt behind the cancel is an ordinary one")
		})
	}
}

// A permission that is needed while a question waits comes with the answer.
func TestRealPermissionWaitsBehindAMessage(t *testing.T) {
	t.Parallel()
	e, api := real(t, apitest.Use(
		asks("toolu_1", question("Which?", "H", false, "a", "b")),
		apitest.ToolUse("toolu_2", "Bash", object{"command": "touch x", "description": "test"}),
	), apitest.Say("done"))
	e.initializeAs("CodeCompanion.nvim", `{}`)
	s := e.Open(t.TempDir())
	e.Prompt(s, "hello").Ends(acp.StopReasonEndTurn)
	require.Empty(t, e.Requests)
	turn := e.Prompt(s, "b")
	e.Asked("touch x").Selects("allow")
	turn.Ends(acp.StopReasonEndTurn)
	require.Contains(t, told(t, api, "toolu_1").Text, `"Which?"="b"`)
	require.Equal(t, "completed", e.Tool(s, "toolu_2")["status"])
}
