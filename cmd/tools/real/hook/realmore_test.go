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
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/terminals"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

const mcpVariable = "ACP_BRIDGE_TEST_MCP"

func TestMain(m *testing.M) {
	if os.Getenv(mcpVariable) != "" {
		playMCP()
	}
	terminals.Main(m)
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
	c, s := terminals.NewClaude(t, nil)
	self, err := os.Executable()
	require.NoError(t, err)
	config := filepath.Join(c.Home, "mcp.json")
	c.Write(config, object{"mcpServers": object{"srv": object{"command": self, "env": object{mcpVariable: "1"}}}})
	c.Start("--mcp-config", config)

	c.API.Script(apitest.Use(apitest.ToolUse("toolu_1", "mcp__srv__do_it", object{})), apitest.Say("Done one."))
	c.Prompt("one")
	c.See("Do you want to proceed?")
	r := s.Next()
	require.Contains(t, r.Call.Questions[0].Options[1].Label, "Always allow mcp__srv__do_it")
	s.Answer(r, watchtest.Picks("Allow"))
	require.Contains(t, c.Told("toolu_1").Text, "it is done")
	c.See("Done one.")

	terminals.Away(t, s, true) // however slow this machine is, the form waits
	c.API.Script(apitest.Use(apitest.ToolUse("toolu_2", "mcp__srv__ask", object{})), apitest.Say("Done two."))
	c.Prompt("two")
	s.Answer(s.Next(), watchtest.Picks("Allow"))
	r = s.Next()
	require.Equal(t, "form", r.Kind)
	s.Answer(r, convert.Answer{Text: "Ada"})
	terminals.Away(t, s, false)
	require.Contains(t, c.Told("toolu_2").Text, `Ada`)
	c.See("Done two.")

	c.API.Script(apitest.Use(apitest.ToolUse("toolu_3", "mcp__srv__ask", object{})), apitest.Say("Done three."))
	c.Prompt("three")
	s.Answer(s.Next(), watchtest.Picks("Allow"))
	r = s.Next()
	require.Contains(t, s.Settled(r).End.Reason, "asked in the terminal now")
	c.See("Who are you?")
}

// planFile is where Claude Code wants its plan.
var planFile = regexp.MustCompile(`create your plan at (\S+\.md)`)

// A plan without text is rejected with a reason, one with text, too, and then approved.
func TestRealPlan(t *testing.T) {
	t.Parallel()
	c, s := terminals.NewClaude(t, nil, apitest.Say("Hm."))
	c.Start("--permission-mode", "plan")
	c.Prompt("plan it")
	c.See("Hm.")
	at := planFile.FindStringSubmatch(c.API.Main()[0].Get("messages").String())
	require.NotNil(t, at)
	exit := func(id string) apitest.Reply {
		return apitest.Use(apitest.ToolUse(id, "ExitPlanMode", object{}))
	}
	c.API.Script(exit("toolu_0"), apitest.Say("Hm, nothing."))
	c.Prompt("before it is written")
	r := s.Next()
	require.Equal(t, "{}", r.Detail)
	s.Answer(r, convert.Answer{Selected: []string{"No, keep planning"}, Note: "write it down"})
	require.Contains(t, c.Told("toolu_0").Text, "write it down")
	c.See("Hm, nothing.")
	s.Receipt(r, "consumed")

	require.NoError(t, os.MkdirAll(filepath.Dir(at[1]), 0o700))
	require.NoError(t, os.WriteFile(at[1], []byte("# The plan\n\n1. Do it.\n"), 0o600))
	c.API.Script(exit("toolu_1"), apitest.Say("Hm, one."))
	c.Prompt("one")
	r = s.Next()
	require.Contains(t, r.Detail, "1. Do it.")
	require.Equal(t, "toolu_1", r.Hold.Call)
	s.Answer(r, convert.Answer{Selected: []string{"No, keep planning"}, Note: "do that, too"})
	require.Contains(t, c.Told("toolu_1").Text, "do that, too")
	c.See("Hm, one.")
	s.Receipt(r, "consumed")

	c.API.Script(exit("toolu_2"), apitest.Use(apitest.ToolUse("toolu_w", "Write", object{"file_path": filepath.Join(c.Dir, "a"), "content": "x"})), apitest.Say("Done two."))
	c.Prompt("two")
	r = s.Next()
	s.Answer(r, watchtest.Picks("Yes, and accept all edits"))
	require.Contains(t, c.Told("toolu_2").Text, "1. Do it.")
	c.See("Done two.") // and nobody was asked about the edit
	s.Receipt(r, "consumed")
}

// A sub-agent in the background is answered at once, or asked about in the terminal.
func TestRealSubAgent(t *testing.T) {
	t.Parallel()
	c, s := terminals.NewClaude(t, nil)
	c.Start()
	c.API.When(func(r apitest.Request) bool {
		return strings.Contains(r.Get("messages.0.content").Raw, "work of the sub-agent")
	},
		bash("toolu_s1", "touch one"), bash("toolu_s2", "touch two"), apitest.Say("The sub-agent is done."))
	c.API.Script(apitest.Use(apitest.ToolUse("toolu_a", "Agent", object{"description": "delegate", "prompt": "work of the sub-agent", "subagent_type": "general-purpose", "run_in_background": true})),
		apitest.Say("It works."), apitest.Say("It is done."))
	terminals.Away(t, s, true) // however slow this machine is, it waits
	c.Prompt("go")
	r := s.Next()
	require.NotEmpty(t, r.Hold.Agent)
	require.Equal(t, "toolu_s1", r.Hold.Call)
	s.Answer(r, watchtest.Picks("Allow"))
	terminals.Away(t, s, false)
	s.Receipt(r, "consumed")
	require.FileExists(t, filepath.Join(c.Dir, "one"))
	r = s.Next()
	require.Contains(t, s.Settled(r).End.Reason, "asked in the terminal now")
	c.See("touch two")
}

// Two sessions at one hub, and one of them is killed.
func TestRealTwoSessions(t *testing.T) {
	t.Parallel()
	first, s := terminals.NewClaude(t, nil, asksDatabase("toolu_1"), apitest.Say("Noted."))
	second, _ := terminals.NewClaude(t, s, asksDatabase("toolu_1"), apitest.Say("Noted."))
	first.Start()
	first.Prompt("hello")
	a := s.Next()
	second.Start()
	second.Prompt("hello")
	b := s.Next()
	require.NotEqual(t, a.Conversation, b.Conversation)
	require.NoError(t, syscall.Kill(first.PID(), syscall.SIGKILL))
	require.Equal(t, "failed", s.Settled(a).End.Outcome)
	_, err := s.Board.Answer(t.Context(), a.Ref(), func(*hub.Record) ([]convert.Answer, error) { return []convert.Answer{watchtest.Picks("SQLite")}, nil }, "phone")
	require.ErrorIs(t, err, hub.ErrSettled)
	s.Answer(b, watchtest.Picks("PostgreSQL"))
	require.Contains(t, second.Told("toolu_1").Text, "PostgreSQL")
}

// A long command that was allowed in the terminal runs: the card is gone before it has
// ended, and says so.
func TestRealLongCommand(t *testing.T) {
	t.Parallel()
	c, s := terminals.NewClaude(t, nil, bash("toolu_1", "touch begun; while [ ! -e end ]; do sleep 0.1; done"), apitest.Say("Done."))
	c.Start()
	c.Prompt("go")
	c.See("Do you want to proceed?")
	r := s.Next()
	c.Choose("Do you want to proceed?", "1")
	end := s.Settled(r).End
	require.Equal(t, "answered", end.Outcome)
	require.Equal(t, "the terminal", end.By)
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(c.Dir, "begun")); return err == nil }, watchtest.Patience, 20*time.Millisecond, "the shell runs, and has not begun the command")
	require.NoError(t, os.WriteFile(filepath.Join(c.Dir, "end"), nil, 0o600))
	c.See("Done.")
}

// A connection to the hub ends while a question is open: the dialog stays, nothing is on the
// screen, the card stays, and so does the next question's.
func TestRealHubGoes(t *testing.T) {
	t.Parallel()
	c, s := terminals.NewClaude(t, nil, asksDatabase("toolu_1"), apitest.Say("Noted one."), asksDatabase("toolu_2"), apitest.Say("Noted two."))
	c.Start()
	c.Prompt("one")
	c.See("Chat about this")
	r := s.Next()
	s.Cut()
	c.Choose("Chat about this", "2")
	require.Equal(t, "the terminal", s.Settled(r).End.By)
	require.Contains(t, c.Told("toolu_1").Text, "SQLite")
	require.NotContains(t, strings.ToLower(c.See("Noted one.")), "hook error")
	c.Prompt("two")
	r = s.Next()
	s.Answer(r, watchtest.Picks("PostgreSQL"))
	require.Contains(t, c.Told("toolu_2").Text, "PostgreSQL")
	s.Receipt(r, "consumed")
}

// A hub that is not there costs nothing, and nothing of it is on the screen.
func TestRealNoHub(t *testing.T) {
	t.Parallel()
	c, _ := terminals.NewClaude(t, &watchtest.Site{URL: "http://127.0.0.1:1", Token: "x"}, asksDatabase("toolu_1"), apitest.Say("Noted."))
	c.Start()
	c.Prompt("hello")
	c.See(database)
	c.Choose("Chat about this", "2")
	require.Contains(t, c.Told("toolu_1").Text, "SQLite")
	screen := strings.ToLower(c.See("Noted."))
	for _, word := range []string{"hook error", "failed", "econnrefused", "127.0.0.1"} {
		require.NotContains(t, screen, word)
	}
}
