package page_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/browser"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/modeltest"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/realtest"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/terminals"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

func TestMain(m *testing.M) {
	if os.Getenv(mcpVariable) != "" {
		playMCP()
	}
	terminals.Main(m)
}

// mcpVariable makes the test's own binary an MCP server, see playMCP.
const mcpVariable = "ACP_BRIDGE_TEST_MCP"

// wanted is what a card must show for a call of a real agent, and what its person does.
type wanted struct {
	verb  string   // behind the agent's name
	shows []string // in view, with the buttons
	press string   // a selector
	why   string   // typed before
}

const allow, reject = ".acts .allow", ".reason .reject"

// Every kind of permission that the real Claude Code asks for, behind an editor that
// nobody sits at: each is a card that shows what it is, whole and in view, and what is
// pressed there is what Claude Code does.
func TestRealCards(t *testing.T) {
	path := terminals.ClaudePath(t)
	t.Parallel()
	browser.Needs(t)
	s, api := watchtest.New(t, web.CanAsk), apitest.New(t)
	home := tempDir(t)
	e := edits(t, s, filepath.Join(tempDir(t), "orders"), apitest.Env(api, home), "--claude", path)
	file := filepath.Join(e.dir, "notes.txt")
	use := func(id, name string, input object) apitest.Reply {
		return apitest.Use(apitest.ToolUse(id, name, input))
	}
	api.When(func(r apitest.Request) bool {
		return strings.Contains(r.Get("messages.0.content").Raw, "work of the sub-agent")
	}, use("toolu_sub", "Bash", object{"command": "touch by-the-sub-agent", "description": "Leave a mark"}), apitest.Say("Left it."))
	api.Script(
		use("toolu_bash", "Bash", object{"command": "touch one\ntouch two", "description": "Make two files"}),
		use("toolu_write", "Write", object{"file_path": file, "content": "first\nsecond\n"}),
		use("toolu_edit", "Edit", object{"file_path": file, "old_string": "second", "new_string": "the last"}),
		use("toolu_fetch", "WebFetch", object{"url": "https://docs.example.com/v2/api", "prompt": "Which endpoints are deprecated?"}),
		use("toolu_mcp", "mcp__tracker__create_issue", object{"title": "Sessions expire too early", "labels": []string{"bug"}}),
		use("toolu_task", "Task", object{"description": "Leave a mark", "prompt": "The work of the sub-agent", "subagent_type": "general-purpose"}),
		apitest.Say("All done."))
	self, err := os.Executable()
	require.NoError(t, err)
	e.open(object{"name": "tracker", "command": self, "args": []string{}, "env": []object{{"name": mcpVariable, "value": "1"}}})
	turn := e.prompt("set the project up")
	p := person{browser.Open(t, s)}
	for _, w := range []wanted{
		{"wants to run a command", []string{"touch one", "touch two", "Make two files"}, allow, ""},
		{"wants to write a file", []string{"notes.txt", "first", "second"}, allow, ""},
		{"wants to edit a file", []string{"notes.txt", "second", "the last"}, allow, ""},
		{"wants to fetch a page", []string{"docs.example.com", "https://docs.example.com/v2/api", "Which endpoints are deprecated?"}, reject, "it is on paper"},
		{"wants to use a tool", []string{"tracker", "create_issue", "Sessions expire too early", "bug"}, allow, ""},
		{"wants to run a command", []string{"touch by-the-sub-agent"}, reject, ""},
	} {
		p.decides(t, "Claude Code", filepath.Base(e.dir), w)
	}
	turn()
	for _, r := range s.Board.Settled("", 100) {
		s.Receipt(r, "consumed")
	}
	require.FileExists(t, filepath.Join(e.dir, "two"))
	require.NoFileExists(t, filepath.Join(e.dir, "by-the-sub-agent"))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "first\nthe last\n", string(text))
	told := map[string]string{}
	for _, r := range api.Main() {
		for _, result := range r.ToolResults() {
			told[result.ID] = result.Text
		}
	}
	require.Contains(t, told["toolu_fetch"], "it is on paper")
	require.Contains(t, told["toolu_mcp"], "it is done")
	require.NotContains(t, api.Main()[0].Tools(), "MultiEdit", "this version has it: its card belongs here")

	api.Script(use("toolu_plan", "ExitPlanMode", object{"plan": "## Move sessions\n\n1. Add the store\n2. **Drop** the table\n"}), apitest.Say("Going."))
	e.call("session/set_mode", object{"sessionId": e.session, "modeId": "plan"})
	turn = e.prompt("plan it")
	p.decides(t, "Claude Code", filepath.Base(e.dir), wanted{"has a plan", []string{"Move sessions", "Add the store", "Drop the table"}, ".acts .allow, .acts .other", ""})
	turn()
}

// Three real agents behind the proxy need permission: their cards show the command, and
// what is pressed is what they do.
func TestRealCardsBehindTheProxy(t *testing.T) {
	for _, one := range []struct {
		name, shown, tool string
		input             object
	}{
		{"kimi", "Kimi", "Bash", object{"command": "touch made-here"}},
		{"qwen", "Qwen", "run_shell_command", object{"command": "touch made-here", "is_background": false, "description": "Make a file"}},
		{"opencode", "OpenCode", "bash", object{"command": "touch made-here", "description": "Make a file"}},
	} {
		t.Run(one.name, func(t *testing.T) {
			agent, err := realtest.Find(one.name)
			if err != nil {
				t.Skipf("SKIPPED: %v", err)
			}
			t.Parallel()
			browser.Needs(t)
			s, model := watchtest.New(t, web.CanAsk), modeltest.New(t)
			start, err := agent.Prepare(tempDir(t), model.URL)
			require.NoError(t, err)
			e := edits(t, s, start.Dir, start.Env, append([]string{"proxy", "--"}, start.Args...)...)
			model.Script(modeltest.Use("call_real0001", one.tool, one.input), modeltest.Say("Thank you."))
			e.open()
			turn := e.prompt("make a file")
			person{browser.Open(t, s)}.decides(t, one.shown, filepath.Base(e.dir), wanted{"wants to run a command", []string{"touch made-here"}, allow, ""})
			turn()
			require.FileExists(t, filepath.Join(e.dir, "made-here"))
		})
	}
}

// decides waits for a card, looks at it as its person would, and presses a button.
func (p person) decides(t *testing.T, agent, project string, w wanted) {
	t.Helper()
	card := `document.querySelector(".card:not(.over)")`
	p.Until(card + `?.querySelector("h3").innerText.includes("` + w.verb + `")`)
	p.Until(`(` + card + `?.scrollIntoView({ block: "end", behavior: "instant" }), !` + card + `.querySelector("` + w.press + `").disabled)`)
	p.Shot("real-" + agent + "-" + strings.ReplaceAll(w.verb+" "+w.shows[0], " ", "-"))
	// What is painted in the window, and nothing else. The page may move while it is read.
	want, err := json.Marshal(w.shows)
	require.NoError(t, err)
	p.Until(`(() => { const card = ` + card + `, walk = document.createTreeWalker(card, NodeFilter.SHOW_TEXT), bar = document.querySelector(".bar").getBoundingClientRect().bottom, all = [];
		card.scrollIntoView({ block: "end", behavior: "instant" });
		for (let n; (n = walk.nextNode());) { const r = document.createRange(); r.selectNodeContents(n); const b = r.getBoundingClientRect(); if (b.height && b.top >= bar && b.bottom <= innerHeight) all.push(n.data); }
		const seen = all.join("").replaceAll("\n", " ");
		return card.querySelector("h3").innerText.includes(` + strconv.Quote(agent) + `) && card.closest(".lane").querySelector(".lane-name").innerText.includes(` + strconv.Quote(project) + `) && ` + string(want) + `.every((text) => seen.includes(text)); })()`)
	id := browser.Eval[string](p.Page, card+`.id`)
	reason := "#" + id + " .reason"
	if w.press == reject { // it offers a reason first
		p.Insist(`document.querySelector("`+reason+`").open`, func() { p.Click("#" + id + " .acts .reject") })
	}
	if w.why != "" {
		p.Insist(`document.activeElement === document.querySelector("`+reason+` textarea")`, func() { p.Click(reason + " textarea") })
		p.Type(w.why)
		p.Until(`document.querySelector("` + reason + ` textarea").value === "` + w.why + `"`)
	}
	p.Insist(`!document.querySelector(".card:not(.over)#`+id+`")`, func() {
		if p.Try(`document.querySelector(".card:not(.over)#` + id + ` ` + w.press + `:enabled")`) {
			p.Click(".card:not(.over)#" + id + " " + w.press)
		}
	})
}

// tempDir is a folder that agents may still write to when the test is over.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cards-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// playMCP is an MCP server with one tool.
func playMCP() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		m := gjson.Parse(lines.Text())
		var result any = object{}
		switch m.Get("method").Str {
		case "initialize":
			result = object{"protocolVersion": m.Get("params.protocolVersion").Str, "capabilities": object{"tools": object{}}, "serverInfo": object{"name": "tracker", "version": "1"}}
		case "tools/list":
			result = object{"tools": []object{{"name": "create_issue", "description": "Creates an issue", "inputSchema": object{"type": "object"}}}}
		case "tools/call":
			result = object{"content": []object{{"type": "text", "text": "it is done"}}}
		}
		if id := m.Get("id"); id.Exists() {
			b, _ := json.Marshal(object{"jsonrpc": "2.0", "id": json.RawMessage(id.Raw), "result": result})
			fmt.Println(string(b))
		}
	}
	os.Exit(0)
}
