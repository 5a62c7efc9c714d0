package backend_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/claude/apitest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// A session is closed, the bridge is started again, and the editor goes on.
func TestRealSessionsOutliveTheProcess(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	e, api := real(t)
	e.leave()
	path := realClaude(t)
	restart := func() *editor {
		e := serve(t, backend.Options{Claude: path, Env: apitest.Env(api, home)})
		e.initialize(`{}`)
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
	s := e.open(dir)
	turn := e.prompt(s, "please begin")
	e.asked("Which database?").selects("SQLite")
	e.asked("a.txt").selects("allow")
	turn.ends(acp.StopReasonEndTurn)
	e.await(s, "a title", func(u gjson.Result) bool { return u.Get("title").Str == "please begin" })
	live := e.messages(s)
	require.Len(t, live, 2, "a thought and what follows it are one message of the model's")
	e.leave()

	e = restart()
	list := e.call(acp.AgentMethodSessionList, fmt.Sprintf(`{"cwd":%q}`, dir))
	require.Equal(t, s, list.Get("sessions.0.sessionId").Str)
	require.Equal(t, "please begin", list.Get("sessions.0.title").Str)
	require.Equal(t, int64(1), list.Get("sessions.#").Int())
	require.Empty(t, e.call(acp.AgentMethodSessionList, fmt.Sprintf(`{"cwd":%q}`, t.TempDir())).Get("sessions").Array())

	e.call(acp.AgentMethodSessionLoad, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, s, dir))
	require.Equal(t, "please begin", e.text(s, "user_message_chunk"))
	require.Equal(t, "let me see", e.text(s, "agent_thought_chunk"))
	require.Equal(t, "I ask.Done.", e.said(s))
	require.Equal(t, live, e.messages(s), "messages have the names that they had")
	asked := e.tool(s, "toolu_1")
	require.Equal(t, "completed", asked["status"])
	require.Equal(t, "Database → SQLite", asked["title"])
	require.Contains(t, asked["content"], "Which database? → SQLite")
	require.Equal(t, "x", asked["drawn"])
	wrote := e.tool(s, "toolu_2")
	require.Equal(t, "Write a.txt", wrote["title"])
	require.Contains(t, wrote["content"], "hello")
	e.prompt(s, "and now?").ends(acp.StopReasonEndTurn)
	require.Equal(t, "I ask.Done.Still here.", e.said(s))
	requests := api.Main()
	require.True(t, requests[len(requests)-1].Contains("please begin"), "the model knows what was said")

	forked := e.call("session/fork", fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, s, dir)).Get("sessionId").Str
	require.NotEqual(t, s, forked)
	e.prompt(forked, "elsewhere").ends(acp.StopReasonEndTurn)
	require.Equal(t, "A fork.", e.said(forked))
	requests = api.Main()
	require.True(t, requests[len(requests)-1].Contains("please begin"))
	e.leave()

	e = restart()
	require.Len(t, e.call(acp.AgentMethodSessionList, fmt.Sprintf(`{"cwd":%q}`, dir)).Get("sessions").Array(), 2)
	e.call(acp.AgentMethodSessionResume, fmt.Sprintf(`{"sessionId":%q,"cwd":%q}`, s, dir))
	require.Empty(t, e.said(s), "resume replays nothing")
	e.call("session/delete", fmt.Sprintf(`{"sessionId":%q}`, forked))
	require.Len(t, e.call(acp.AgentMethodSessionList, fmt.Sprintf(`{"cwd":%q}`, dir)).Get("sessions").Array(), 1)
}

// An editor that loads a session that is open starts over with it: the process that
// it had is gone before the next one begins, also one that is slow to end.
func TestLoadOfAnOpenSession(t *testing.T) {
	t.Parallel()
	s := save(t, ct.Script{IgnoreEOF: true}, promptLine)
	e, _ := s.reopen(s.options(), acp.AgentMethodSessionLoad, `{}`)
	starts := s.cli.Starts()
	first := starts[len(starts)-1].Pid
	_, err := ct.Install(filepath.Dir(s.cli.Path), ct.Script{})
	require.NoError(t, err)
	e.call(acp.AgentMethodSessionLoad, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, reopened, s.dir))
	requireGone(t, first)
	e.prompt(reopened, "go on").ends(acp.StopReasonEndTurn)
}

func TestSessionsThatDoNotExist(t *testing.T) {
	e := serve(t, backend.Options{Claude: "/no/such/claude", Env: []string{"HOME=" + t.TempDir()}})
	e.initialize(`{}`)
	const id = "01234567-89ab-4def-8123-456789abcdef"
	for method, params := range map[string]string{
		acp.AgentMethodSessionLoad:   `{"sessionId":"` + id + `","cwd":"/","mcpServers":[]}`,
		acp.AgentMethodSessionResume: `{"sessionId":"` + id + `","cwd":"/"}`,
		"session/fork":               `{"sessionId":"` + id + `","cwd":"/"}`,
		"session/delete":             `{"sessionId":"` + id + `"}`,
	} {
		_, err := e.try(method, params)
		require.ErrorContains(t, err, "there is no session", method)
	}
	_, err := e.try(acp.AgentMethodSessionLoad, `{"sessionId":"../../etc/passwd","cwd":"/","mcpServers":[]}`)
	require.Error(t, err)
	require.Empty(t, e.call(acp.AgentMethodSessionList, `{}`).Get("sessions").Array())
	_, err = e.try(acp.AgentMethodSessionList, `{"cursor":"nonsense"}`)
	require.Error(t, err)
}

// Messages of a transcript have the same names each time, and a compaction is told to a
// client that shows it.
func TestNamesOfATranscript(t *testing.T) {
	const replied = `{"parentUuid":"u1","type":"assistant","message":{"id":"msg_1","model":"m","content":[{"type":"text","text":"Hello"}]},"uuid":"a1"}`
	const failed = `{"parentUuid":"b1","type":"assistant","isApiErrorMessage":true,"error":"unknown","message":{"id":"f1","model":"<synthetic>","content":[{"type":"text","text":"API Error"}]},"uuid":"a2"}`
	const boundary = `{"parentUuid":null,"logicalParentUuid":"a1","type":"system","subtype":"compact_boundary","uuid":"b1","compactMetadata":{"trigger":"manual","preTokens":17}}`
	said := []string{"user_message_chunk u1", "agent_message_chunk msg_1"}
	for caps, want := range map[string][]string{
		`{}`:                            append(said[:2:2], "agent_message_chunk f1"),
		`{"session":{"notices":{}}}`:    append(said[:2:2], "agent_message_chunk f1"),
		`{"session":{"compaction":{}}}`: append(said[:2:2], "compaction_update b1 completed", "agent_message_chunk f1"),
	} {
		t.Run(caps, func(t *testing.T) {
			t.Parallel()
			for range 2 {
				s := save(t, ct.Script{}, promptLine, replied, boundary, failed)
				e, _ := s.reopen(s.options(), acp.AgentMethodSessionLoad, caps)
				var got []string
				for _, u := range e.updates(reopened) {
					switch kind := u.Get("sessionUpdate").Str; {
					case strings.HasSuffix(kind, "_chunk"):
						got = append(got, kind+" "+u.Get("messageId").Str)
					case kind == "compaction_update":
						got = append(got, kind+" "+u.Get("compactionId").Str+" "+u.Get("status").Str)
					}
				}
				require.Equal(t, want, got)
			}
		})
	}
}
