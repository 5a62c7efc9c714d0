//go:build unix

package hook_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/claude/apitest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

const mcpVariable = "ACP_BRIDGE_TEST_MCP"

func TestMain(m *testing.M) {
	if os.Getenv(mcpVariable) != "" {
		playMCP()
	}
	code := m.Run()
	if built != "" {
		os.RemoveAll(built)
	}
	os.Exit(code)
}

// playMCP is an MCP server with a tool that does something, and one that asks with a form.
func playMCP() {
	say := func(m object) {
		m["jsonrpc"] = "2.0"
		b, _ := json.Marshal(m)
		fmt.Println(string(b))
	}
	var call json.RawMessage // that waits for its form
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		m := gjson.Parse(lines.Text())
		var result any = object{}
		switch id := m.Get("id"); {
		case id.Str == "form":
			say(object{"id": call, "result": object{"content": []object{{"type": "text", "text": m.Get("result").Raw}}}})
			continue
		case m.Get("method").Str == "initialize":
			result = object{"protocolVersion": m.Get("params.protocolVersion").Str, "capabilities": object{"tools": object{}}, "serverInfo": object{"name": "srv", "version": "1"}}
		case m.Get("method").Str == "tools/list":
			result = object{"tools": []object{{"name": "do_it", "description": "does", "inputSchema": object{"type": "object"}}, {"name": "ask", "description": "asks", "inputSchema": object{"type": "object"}}}}
		case m.Get("params.name").Str == "do_it":
			result = object{"content": []object{{"type": "text", "text": "it is done"}}}
		case m.Get("params.name").Str == "ask":
			call = json.RawMessage(id.Raw)
			say(object{"id": "form", "method": "elicitation/create", "params": object{"message": "Who are you?",
				"requestedSchema": object{"type": "object", "properties": object{"name": object{"type": "string"}}, "required": []string{"name"}}}})
			continue
		}
		if id := m.Get("id"); id.Exists() {
			say(object{"id": json.RawMessage(id.Raw), "result": result})
		}
	}
	os.Exit(0)
}

// A tool of an MCP server, and its form. While a hook waits for a form the terminal shows
// nothing: it comes there after a moment.
func TestRealMCP(t *testing.T) {
	t.Parallel()
	c, s := newTerminal(t, nil)
	self, err := os.Executable()
	require.NoError(t, err)
	config := filepath.Join(c.home, "mcp.json")
	c.write(config, object{"mcpServers": object{"srv": object{"command": self, "env": object{mcpVariable: "1"}}}})
	c.start("--mcp-config", config)

	c.api.Script(apitest.Use(apitest.ToolUse("toolu_1", "mcp__srv__do_it", object{})), apitest.Say("Done one."))
	c.prompt("one")
	c.see("Do you want to proceed?")
	r := s.next()
	require.Contains(t, r.Call.Questions[0].Options[1].Label, "Always allow mcp__srv__do_it")
	s.answer(r, picks("Allow"))
	require.Contains(t, c.told("toolu_1").Text, "it is done")
	c.see("Done one.")

	c.api.Script(apitest.Use(apitest.ToolUse("toolu_2", "mcp__srv__ask", object{})), apitest.Say("Done two."))
	c.prompt("two")
	s.answer(s.next(), picks("Allow"))
	r = s.next()
	require.Equal(t, "form", r.Kind)
	s.answer(r, convert.Answer{Text: "Ada"})
	require.Contains(t, c.told("toolu_2").Text, `Ada`)
	c.see("Done two.")

	c.api.Script(apitest.Use(apitest.ToolUse("toolu_3", "mcp__srv__ask", object{})), apitest.Say("Done three."))
	c.prompt("three")
	s.answer(s.next(), picks("Allow"))
	r = s.next()
	require.Contains(t, s.settled(r).End.Reason, "asked in the terminal now")
	c.see("Who are you?")
}

// planFile is where Claude Code wants its plan.
var planFile = regexp.MustCompile(`create your plan at (\S+\.md)`)

// A plan is rejected with a reason, changed, and approved in the terminal.
func TestRealPlan(t *testing.T) {
	t.Parallel()
	c, s := newTerminal(t, nil, apitest.Say("Hm."))
	c.start("--permission-mode", "plan")
	c.prompt("plan it")
	c.see("Hm.")
	at := planFile.FindStringSubmatch(c.api.Main()[0].Get("messages").String())
	require.NotNil(t, at)
	require.NoError(t, os.MkdirAll(filepath.Dir(at[1]), 0o700))
	require.NoError(t, os.WriteFile(at[1], []byte("# The plan\n\n1. Do it.\n"), 0o600))
	exit := func(id string) apitest.Reply {
		return apitest.Use(apitest.ToolUse(id, "ExitPlanMode", object{}))
	}
	c.api.Script(exit("toolu_1"), apitest.Say("Hm, one."))
	c.prompt("one")
	r := s.next()
	require.Contains(t, r.Detail, "1. Do it.")
	require.Equal(t, "toolu_1", r.Hold.Call)
	s.answer(r, convert.Answer{Selected: []string{"No, keep planning"}, Note: "do that, too"})
	require.Contains(t, c.told("toolu_1").Text, "do that, too")
	c.see("Hm, one.")
	s.receipt(r, "consumed")

	c.api.Script(exit("toolu_2"), apitest.Use(apitest.ToolUse("toolu_w", "Write", object{"file_path": filepath.Join(c.dir, "a"), "content": "x"})), apitest.Say("Done two."))
	c.prompt("two")
	r = s.next()
	s.answer(r, picks("Yes, and accept all edits"))
	require.Contains(t, c.told("toolu_2").Text, "1. Do it.")
	c.see("Done two.") // and nobody was asked about the edit
	s.receipt(r, "consumed")
}

// A sub-agent in the background is answered at once, or asked about in the terminal.
func TestRealSubAgent(t *testing.T) {
	t.Parallel()
	c, s := newTerminal(t, nil)
	c.start()
	c.api.When(func(r apitest.Request) bool {
		return strings.Contains(r.Get("messages.0.content").Raw, "work of the sub-agent")
	},
		bash("toolu_s1", "touch one"), bash("toolu_s2", "touch two"), apitest.Say("The sub-agent is done."))
	c.api.Script(apitest.Use(apitest.ToolUse("toolu_a", "Agent", object{"description": "delegate", "prompt": "work of the sub-agent", "subagent_type": "general-purpose", "run_in_background": true})),
		apitest.Say("It works."), apitest.Say("It is done."))
	c.prompt("go")
	r := s.next()
	require.NotEmpty(t, r.Hold.Agent)
	require.Equal(t, "toolu_s1", r.Hold.Call)
	s.answer(r, picks("Allow"))
	s.receipt(r, "consumed")
	require.FileExists(t, filepath.Join(c.dir, "one"))
	r = s.next()
	require.Contains(t, s.settled(r).End.Reason, "asked in the terminal now")
	c.see("touch two")
}

// Two sessions at one hub, and one of them is killed.
func TestRealTwoSessions(t *testing.T) {
	t.Parallel()
	first, s := newTerminal(t, nil, asksDatabase("toolu_1"), apitest.Say("Noted."))
	second, _ := newTerminal(t, s, asksDatabase("toolu_1"), apitest.Say("Noted."))
	first.start()
	first.prompt("hello")
	a := s.next()
	second.start()
	second.prompt("hello")
	b := s.next()
	require.NotEqual(t, a.Conversation, b.Conversation)
	require.NoError(t, syscall.Kill(first.pid(), syscall.SIGKILL))
	require.Equal(t, "disconnected", s.settled(a).End.Outcome)
	_, err := s.board.Answer(t.Context(), a.Ref(), func(*hub.Record) ([]convert.Answer, error) { return []convert.Answer{picks("SQLite")}, nil }, "phone")
	require.ErrorIs(t, err, hub.ErrSettled)
	s.answer(b, picks("PostgreSQL"))
	require.Contains(t, second.told("toolu_1").Text, "PostgreSQL")
}

// A long command that was allowed in the terminal runs: the card is gone before it has
// ended, and says so.
func TestRealLongCommand(t *testing.T) {
	t.Parallel()
	c, s := newTerminal(t, nil, bash("toolu_1", "touch begun; while [ ! -e end ]; do sleep 0.1; done"), apitest.Say("Done."))
	c.start()
	c.prompt("go")
	c.see("Do you want to proceed?")
	r := s.next()
	c.choose("1", "Do you want to proceed?")
	end := s.settled(r).End
	require.Equal(t, "answered", end.Outcome)
	require.Equal(t, "the terminal", end.By)
	require.FileExists(t, filepath.Join(c.dir, "begun"))
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "end"), nil, 0o600))
	c.see("Done.")
}

// A hub goes while a question is open: the dialog stays, nothing is on the screen, and the
// next question is at the hub again.
func TestRealHubGoes(t *testing.T) {
	t.Parallel()
	c, s := newTerminal(t, nil, asksDatabase("toolu_1"), apitest.Say("Noted one."), asksDatabase("toolu_2"), apitest.Say("Noted two."))
	c.start()
	c.prompt("one")
	c.see("Chat about this")
	r := s.next()
	s.cut()
	require.Equal(t, "disconnected", s.settled(r).End.Outcome)
	c.choose("2", "Chat about this")
	require.Contains(t, c.told("toolu_1").Text, "SQLite")
	require.NotContains(t, strings.ToLower(c.see("Noted one.")), "hook error")
	c.prompt("two")
	r = s.next()
	s.answer(r, picks("PostgreSQL"))
	require.Contains(t, c.told("toolu_2").Text, "PostgreSQL")
	s.receipt(r, "consumed")
}

// A hub that is not there costs nothing, and nothing of it is on the screen.
func TestRealNoHub(t *testing.T) {
	t.Parallel()
	c, _ := newTerminal(t, &site{t: t, url: "http://127.0.0.1:1", token: "x"}, asksDatabase("toolu_1"), apitest.Say("Noted."))
	c.start()
	c.prompt("hello")
	c.see(database)
	c.choose("2", "Chat about this")
	require.Contains(t, c.told("toolu_1").Text, "SQLite")
	screen := strings.ToLower(c.see("Noted."))
	for _, word := range []string{"hook error", "failed", "econnrefused", "127.0.0.1"} {
		require.NotContains(t, screen, word)
	}
}
