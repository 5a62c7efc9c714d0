package backend_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
)

// delegates is a line of a transcript that begins a sub-agent, returns one with
// what it answers.
func delegates(uuid, parent, call string) string {
	return fmt.Sprintf(`{"parentUuid":%q,"type":"assistant","message":{"id":"m%[2]s","model":"m","content":[{"type":"tool_use","id":%q,"name":"Agent","input":{"description":"task of %[3]s","prompt":"do %[3]s"}}]},"uuid":%[4]q}`, parent, uuid, call, uuid)
}

func returns(uuid, parent, call, more string) string {
	return fmt.Sprintf(`{"parentUuid":%q,"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":%q%s}]},"uuid":%q}`, parent, call, more, uuid)
}

// keep writes a sub-agent's own transcript.
func (s *saved) keep(id, meta string, lines ...string) {
	dir := filepath.Join(transcript.Dir(filepath.Join(s.home, ".claude"), s.dir), reopened, "subagents")
	require.NoError(s.t, os.MkdirAll(dir, 0o755))
	require.NoError(s.t, os.WriteFile(filepath.Join(dir, "agent-"+id+".meta.json"), []byte(meta), 0o600))
	require.NoError(s.t, os.WriteFile(filepath.Join(dir, "agent-"+id+".jsonl"), []byte(strings.Join(lines, "\n")+"\n"), 0o600))
}

// goesOn waits until all was said that follows the response.
func (e *editor) goesOn(session string) {
	e.Await(session, "the commands", func(u gjson.Result) bool { return u.Get("sessionUpdate").Str == "available_commands_update" })
}

// A loaded session shows its sub-agents as it did while they worked: as sessions,
// each with its words and how it ended. One that has no transcript is a tool call.
func TestSubAgentsOfALoadedSession(t *testing.T) {
	says := func(uuid, text string) string {
		return fmt.Sprintf(`{"parentUuid":null,"isSidechain":true,"type":"assistant","message":{"id":"m%[1]s","model":"m","content":[{"type":"text","text":%q}]},"uuid":%[1]q}`, uuid, text)
	}
	s := save(t, ct.Script{}, promptLine,
		delegates("a1", "u1", "toolu_1"), returns("t1", "a1", "toolu_1", `,"content":"found"`),
		delegates("a2", "t1", "toolu_2"), returns("t2", "a2", "toolu_2", `,"is_error":true,"content":"no luck"`),
		delegates("a3", "t2", "toolu_3"), returns("t3", "a3", "toolu_3", `,"is_error":true,"content":"[Request interrupted by user for tool use]"`),
		delegates("a4", "t3", "toolu_4"), returns("t4", "a4", "toolu_4", `,"content":"found nothing"`),
		delegates("a5", "t4", "toolu_5"))
	s.keep("one", `{"agentType":"Explore","description":"explore","toolUseId":"toolu_1"}`, says("x1", "I look."),
		delegates("x2", "x1", "toolu_n"), returns("x3", "x2", "toolu_n", `,"content":"deep"`))
	s.keep("inner", `{"toolUseId":"toolu_n"}`, says("y1", "I dig."))
	s.keep("two", `{"toolUseId":"toolu_2"}`, says("z1", "I try."))
	s.keep("three", `{"toolUseId":"toolu_3"}`)
	s.keep("five", `{"toolUseId":"toolu_5","stoppedByUser":true}`)
	e, _ := s.reopen(s.options(), acp.AgentMethodSessionLoad, subAgents)
	e.goesOn(reopened)
	require.Equal(t, []string{
		"main| one is running explore",
		"main| main to one: do toolu_1",
		"one| main to one: do toolu_1",
		"one| says I look.",
		"one| inner is running task of toolu_n",
		"one| one to inner: do toolu_n",
		"inner| one to inner: do toolu_n",
		"inner| says I dig.",
		"one| inner is idle end_turn",
		"one| inner to one: deep",
		"main| one is idle end_turn",
		"main| one to main: found",
		"main| two is running task of toolu_2",
		"main| main to two: do toolu_2",
		"two| main to two: do toolu_2",
		"two| says I try.",
		"main| two is idle error no luck",
		"main| three is running task of toolu_3",
		"main| main to three: do toolu_3",
		"three| main to three: do toolu_3",
		"main| three is idle cancelled",
		"main| toolu_4 pending",
		"main| toolu_4 completed",
		"main| five is running task of toolu_5",
		"main| main to five: do toolu_5",
		"five| main to five: do toolu_5",
		"main| five is idle cancelled",
		// Behind the response: how they stand now.
		"main| five is idle cancelled",
		"one| inner is idle end_turn",
		"main| one is idle end_turn",
		"main| three is idle cancelled",
		"main| two is idle error no luck",
	}, partLines(e, reopened))
	for _, u := range e.Updates(reopened) {
		require.False(t, u.Get("capabilities").Exists(), "what is over cannot be cancelled")
	}

	e, _ = s.reopen(s.options(), acp.AgentMethodSessionLoad, `{}`)
	e.goesOn(reopened)
	require.Equal(t, "completed", e.Tool(reopened, "toolu_1")["status"], "an editor without them has the calls")
	require.NotContains(t, strings.Join(partLines(e, reopened), "\n"), " is ")
}
