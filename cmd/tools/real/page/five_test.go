//go:build linux

package page_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/browser"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/modeltest"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/realtest"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/terminals"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

// fiveQuestion is what most of the five ask, in the same words: who asks is told apart by
// nothing else than who asks.
func fiveQuestion(more object) object {
	q := object{"question": "Which database should we use?", "header": "Database", "options": []object{
		{"label": "PostgreSQL", "description": "Battle-tested, relational"}, {"label": "SQLite", "description": "Lightweight, in a file"}}}
	for k, v := range more {
		q[k] = v
	}
	return object{"questions": []object{q}}
}

// One person, five agents: Claude Code in a terminal and in an editor, Codex in a
// terminal, Kimi behind the proxy, and an MCP client. All of them wait at one page, and
// each gets what was clicked on its card.
func TestOnePersonFiveAgents(t *testing.T) {
	realClaude := terminals.ClaudePath(t)
	browser.Needs(t)
	kimiAgent, err := realtest.Find("kimi")
	if err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	codex := terminals.NewCodex(t)
	s := watchtest.New(t, web.CanAsk)
	hooks := *s
	hooks.Token, err = s.Access.Add("claude", web.CanHook)
	require.NoError(t, err)
	root := t.TempDir()
	dir := func(name string) string {
		d := filepath.Join(root, name)
		require.NoError(t, os.Mkdir(d, 0o700))
		return d
	}

	// They start all at once.
	terminal, _ := terminals.NewClaude(t, &hooks, apitest.Use(apitest.ToolUse("toolu_terminal", "AskUserQuestion", fiveQuestion(object{"multiSelect": false}))), apitest.Say("Terminal noted."))
	terminal.Dir = dir("shop")
	terminal.Begin()
	codex.Start.Dir = dir("billing")
	codex.Model.Script(modeltest.Use("call_codex", "request_user_input", fiveQuestion(object{"id": "db"})), modeltest.Say("Codex noted."))
	codex.Watch(s)
	codex.Open()

	home := t.TempDir()
	api := apitest.New(t)
	api.Script(apitest.Use(apitest.ToolUse("toolu_editor", "AskUserQuestion", fiveQuestion(object{"multiSelect": false}))), apitest.Say("Editor noted."))
	blog := edits(t, s, dir("blog"), append(apitest.Env(api, home), "IS_SANDBOX=1"), "--claude", realClaude)

	model := modeltest.New(t)
	start, err := kimiAgent.Prepare(t.TempDir(), model.URL)
	require.NoError(t, err)
	model.Script(modeltest.Use("call_kimi", "Bash", object{"command": "touch migrated && echo it is migrated"}), modeltest.Say("Kimi noted."))
	kimi := edits(t, s, dir("search"), append(start.Env, "XDG_STATE_HOME="+home), append([]string{"proxy", "--"}, start.Args...)...)

	tool := newFiveTool(t, s, home, dir("site"))

	blog.open()
	kimi.open()
	editing := blog.prompt("Set up the blog")
	proxied := kimi.prompt("Migrate the index")
	asked := tool(fiveQuestion(nil))
	terminal.Ready()
	terminal.Prompt("Set up the shop")
	codex.See("Ask Codex to do anything")
	codex.Prompt("Set up billing")

	// One page has them all.
	p := person{browser.Open(t, s)}
	p.Until(`document.querySelectorAll(".card").length === 5`)
	all, _ := s.Board.Read(0).Next()
	require.Len(t, all, 5)

	// Each is answered: some alike, one in words, one with a permission.
	terminal.See("Chat about this")
	p.answerIn(t, "shop", "Claude Code", pickSecond)
	p.answerIn(t, "search", "Kimi", permit)
	p.answerIn(t, "site", "Assistant", inWords("Redis, it is only a cache"))
	p.answerIn(t, "billing", "Codex", pickSecond)
	p.answerIn(t, "blog", "Claude Code", pickFirst)
	p.Until(`!document.querySelector(".card:not(.over)")`)

	// And has what was said to it.
	require.Contains(t, terminal.Told("toolu_terminal").Text, `="SQLite"`)
	terminal.See("Terminal noted.")
	require.Contains(t, codex.Told("call_codex"), `"SQLite"`)
	codex.See("Codex noted.")
	require.Contains(t, terminals.Told(t, api, "toolu_editor", nil).Text, `="PostgreSQL"`)
	editing()
	proxied()
	require.FileExists(t, filepath.Join(kimi.dir, "migrated"))
	told, err := asked()
	require.NoError(t, err)
	require.Contains(t, told, "Redis, it is only a cache")
	for _, r := range all {
		end := s.Becomes(r, "with its agent", func(r *hub.Record) bool {
			return !r.Open() && r.End.Receipt() != "accepted"
		}).End
		require.Equal(t, web.Owner, end.By)
		told := []string{"delivered", "consumed"}
		if strings.HasPrefix(r.Agent, "Codex") { // it does not say whose answer it took
			told = []string{"delivered", "unknown"}
		}
		require.Contains(t, told, end.Receipt(), r.Agent)
	}
}

// What a person does in a card.
const (
	submit     = `; card.querySelector("button[value=answer]").click()`
	pickFirst  = `card.querySelector("input[name=a0][value='0']").click()` + submit
	pickSecond = `card.querySelector("input[name=a0][value='1']").click()` + submit
	permit     = `card.querySelector("button.allow").dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, detail: 1 }))` // by pointer
)

func inWords(text string) string {
	return fmt.Sprintf(`const own = card.querySelector("textarea[name=t0]"); own.value = %q; own.dispatchEvent(new Event("input", { bubbles: true }))`, text) + submit
}

// answerIn answers the one card of a project: what a script does there is done until the
// card is over, because cards that go move the others, and what has just moved takes no
// click.
func (p person) answerIn(t *testing.T, project, agent, script string) {
	t.Helper()
	p.Until(fmt.Sprintf(`(() => {
		const lane = [...document.querySelectorAll(".lane")].find((l) => l.querySelector(".lane-name strong").textContent === %[1]q);
		const card = lane?.querySelector(".card");
		if (!card) return window.answered === %[1]q; // its receipt has gone, too
		if (lane?.querySelectorAll(".card").length !== 1 || !card.querySelector("h3").textContent.includes(%[2]q)) return false;
		if (card.classList.contains("over")) return true;
		card.scrollIntoView({ block: "end" });
		window.answered = %[1]q;
		%[3]s;
		return false;
	})()`, project, agent, script))
}

// newFiveTool is an MCP client that calls our tool; what it was told comes later.
func newFiveTool(t *testing.T, s *watchtest.Site, home, dir string) func(object) func() (string, error) {
	t.Helper()
	path, err := terminals.Program()
	require.NoError(t, err)
	cmd := exec.Command(path, "mcp", "--hub", s.URL, "--hub-token-file", terminals.TokenFile(t, s), "--limit", "1h")
	cmd.Env, cmd.Dir = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, dir
	client := mcp.NewClient(&mcp.Implementation{Name: "assistant", Title: "Assistant", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return func(input object) func() (string, error) {
		var wait sync.WaitGroup
		var result *mcp.CallToolResult
		var err error
		wait.Go(func() {
			result, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask_the_user", Arguments: input})
		})
		return func() (string, error) {
			wait.Wait()
			if err != nil {
				return "", err
			}
			text, err := json.Marshal(result)
			return string(text), err
		}
	}
}
