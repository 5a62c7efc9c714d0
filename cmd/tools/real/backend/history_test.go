//go:build unix

package backend_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
)

// A session is closed, the bridge is started again, and the editor goes on.
func TestRealSessionsOutliveTheProcess(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	e, api := real(t)
	e.Leave()
	path := realClaude(t)
	restart := func() *editor {
		e := serve(t, backend.Options{Claude: path, Env: apitest.Env(api, home)})
		e.Initialize(`{}`)
		return e
	}
	api.Script(
		apitest.Use(apitest.Thinking("let me see"), apitest.Text("I ask."), asks("toolu_1", question("Which database?", "Database", false, "PostgreSQL", "SQLite"))),
		apitest.Use(apitest.ToolUse("toolu_2", "Write", object{"file_path": filepath.Join(dir, "a.txt"), "content": "hello\n"})),
		apitest.Say("Done."),
		apitest.Say("Still here."),
		apitest.Say("A fork."),
	)
	e = restart()
	s := e.Open(dir)
	turn := e.Prompt(s, "please begin")
	e.Asked("Which database?").Selects("SQLite")
	e.Asked("a.txt").Selects("allow")
	turn.Ends(acp.StopReasonEndTurn)
	e.Await(s, "a title", func(u gjson.Result) bool { return u.Get("title").Str == "please begin" })
	live := e.messages(s)
	require.Len(t, live, 2, "a thought and what follows it are one message of the model's")
	e.Leave()

	e = restart()
	list := e.Call(acp.AgentMethodSessionList, fmt.Sprintf(`{"cwd":%q}`, dir))
	require.Equal(t, s, list.Get("sessions.0.sessionId").Str)
	require.Equal(t, "please begin", list.Get("sessions.0.title").Str)
	require.Equal(t, int64(1), list.Get("sessions.#").Int())
	require.Empty(t, e.Call(acp.AgentMethodSessionList, fmt.Sprintf(`{"cwd":%q}`, t.TempDir())).Get("sessions").Array())

	e.Call(acp.AgentMethodSessionLoad, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, s, dir))
	require.Equal(t, "please begin", e.Text(s, "user_message_chunk"))
	require.Equal(t, "let me see", e.Text(s, "agent_thought_chunk"))
	require.Equal(t, "I ask.Done.", e.Said(s))
	require.Equal(t, live, e.messages(s), "messages have the names that they had")
	asked := e.Tool(s, "toolu_1")
	require.Equal(t, "completed", asked["status"])
	require.Equal(t, "Database → SQLite", asked["title"])
	require.Contains(t, asked["content"], "Which database? → SQLite")
	require.Equal(t, "x", asked["drawn"])
	wrote := e.Tool(s, "toolu_2")
	require.Equal(t, "Write a.txt", wrote["title"])
	require.Contains(t, wrote["content"], "hello")
	e.Prompt(s, "and now?").Ends(acp.StopReasonEndTurn)
	require.Equal(t, "I ask.Done.Still here.", e.Said(s))
	requests := api.Main()
	require.True(t, requests[len(requests)-1].Contains("please begin"), "the model knows what was said")

	forked := e.Call("session/fork", fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, s, dir)).Get("sessionId").Str
	require.NotEqual(t, s, forked)
	e.Prompt(forked, "elsewhere").Ends(acp.StopReasonEndTurn)
	require.Equal(t, "A fork.", e.Said(forked))
	requests = api.Main()
	require.True(t, requests[len(requests)-1].Contains("please begin"))
	e.Leave()

	e = restart()
	require.Len(t, e.Call(acp.AgentMethodSessionList, fmt.Sprintf(`{"cwd":%q}`, dir)).Get("sessions").Array(), 2)
	e.Call(acp.AgentMethodSessionResume, fmt.Sprintf(`{"sessionId":%q,"cwd":%q}`, s, dir))
	require.Empty(t, e.Said(s), "resume replays nothing")
	e.Call("session/delete", fmt.Sprintf(`{"sessionId":%q}`, forked))
	require.Len(t, e.Call(acp.AgentMethodSessionList, fmt.Sprintf(`{"cwd":%q}`, dir)).Get("sessions").Array(), 1)
}

// messages are the agent's words by the name of their message. Every chunk has one.
func (e *editor) messages(session string) map[string]string {
	list := map[string]string{}
	for _, u := range e.Updates(session) {
		if kind, text := u.Get("sessionUpdate").Str, u.Get("content.text"); strings.HasSuffix(kind, "_chunk") && text.Exists() {
			require.NotEmpty(e.T, u.Get("messageId").Str, u.Raw)
			if kind != "user_message_chunk" {
				list[u.Get("messageId").Str] += text.Str
			}
		}
	}
	return list
}
