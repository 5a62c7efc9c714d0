//go:build linux

package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/claude/apitest"
	"github.com/acp-bridge/acp-bridge/internal/conn"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
	"github.com/acp-bridge/acp-bridge/internal/modeltest"
	"github.com/acp-bridge/acp-bridge/internal/realtest"
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
//
// With ACP_BRIDGE_SCREENSHOTS it keeps the recording of which the README has a picture.
func TestOnePersonFiveAgents(t *testing.T) {
	realClaude := watchtest.ClaudePath(t)
	b := newChromium(t)
	kimiAgent, err := realtest.Find("kimi")
	if err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	codex := watchtest.NewCodex(t)
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
	terminal, _ := watchtest.NewClaude(t, &hooks, apitest.Use(apitest.ToolUse("toolu_terminal", "AskUserQuestion", fiveQuestion(object{"multiSelect": false}))), apitest.Say("Terminal noted."))
	terminal.Dir = dir("shop")
	terminal.Begin()
	codex.Start.Dir = dir("billing")
	codex.Model.Script(modeltest.Use("call_codex", "request_user_input", fiveQuestion(object{"id": "db"})), modeltest.Say("Codex noted."))
	codex.Watch(s)
	codex.Open()

	home := t.TempDir()
	api := apitest.New(t)
	api.Script(apitest.Use(apitest.ToolUse("toolu_editor", "AskUserQuestion", fiveQuestion(object{"multiSelect": false}))), apitest.Say("Editor noted."))
	edits := newFiveEditor(t, s, append(apitest.Env(api, home), "IS_SANDBOX=1"), dir("blog"), "--claude", realClaude)

	model := modeltest.New(t)
	start, err := kimiAgent.Prepare(t.TempDir(), model.URL)
	require.NoError(t, err)
	model.Script(modeltest.Use("call_kimi", "Bash", object{"command": "touch migrated && echo it is migrated"}), modeltest.Say("Kimi noted."))
	kimi := newFiveEditor(t, s, append(start.Env, "XDG_STATE_HOME="+home), dir("search"), append([]string{"proxy", "--"}, start.Args...)...)

	tool := newFiveTool(t, s, home, dir("site"))

	editing := edits.prompt("Set up the blog")
	proxied := kimi.prompt("Migrate the index")
	asked := tool(fiveQuestion(nil))
	terminal.Ready()
	terminal.Prompt("Set up the shop")
	codex.See("Ask Codex to do anything")
	codex.Prompt("Set up billing")

	// One page has them all.
	p := (&site{t: t, url: s.URL, board: s.Board, access: s.Access}).visit(b, 390, false)
	p.patience = watchtest.Patience // agents start slowly
	p.until(`document.querySelectorAll(".card").length === 5`)
	record := newFiveRecording(t, s, root)
	record.run("questions")
	all, _ := s.Board.Read(0).Next()
	require.Len(t, all, 5)

	// Each is answered: some alike, one in words, one with a permission.
	terminal.See("Chat about this")
	p.answerIn("shop", "Claude Code", pickSecond)
	p.answerIn("search", "Kimi", permit)
	p.answerIn("site", "Assistant", inWords("Redis, it is only a cache"))
	p.answerIn("billing", "Codex", pickSecond)
	p.answerIn("blog", "Claude Code", pickFirst)
	p.until(`!document.querySelector(".card:not(.over)")`)

	// And has what was said to it.
	require.Contains(t, terminal.Told("toolu_terminal").Text, `="SQLite"`)
	terminal.See("Terminal noted.")
	require.Contains(t, codex.Told("call_codex"), `"SQLite"`)
	codex.See("Codex noted.")
	require.Contains(t, watchtest.Told(t, api, "toolu_editor", nil).Text, `="PostgreSQL"`)
	require.NoError(t, <-editing)
	require.NoError(t, <-proxied)
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
	record.run("questions", "history")
	record.keep()
}

// fiveRecording is what a person sees of them in a terminal.
type fiveRecording struct {
	t           *testing.T
	s           *watchtest.Site
	root, token string
	text        string
}

func newFiveRecording(t *testing.T, s *watchtest.Site, root string) *fiveRecording {
	r := &fiveRecording{t: t, s: s, root: root, token: filepath.Join(t.TempDir(), "token")}
	require.NoError(t, os.WriteFile(r.token, []byte(s.Owner), 0o600))
	return r
}

// run records a command, with short names for what is long here.
func (r *fiveRecording) run(args ...string) {
	r.t.Helper()
	path, err := watchtest.Program()
	require.NoError(r.t, err)
	cmd := exec.Command(path, append(args, "--hub", r.s.URL, "--hub-token-file", r.token)...)
	cmd.Env = []string{"HOME=" + r.root, "PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	require.NoError(r.t, err, "%s", out)
	machine, _ := os.Hostname()
	r.text += "$ acp-bridge " + strings.Join(args, " ") + "\n" + strings.NewReplacer(r.root, "~", " on "+machine, "").Replace(string(out))
}

// keep writes what was recorded to where pictures go; go test ./cmd/acp-bridge -run
// TestPictureOfFiveAgents -update draws it.
func (r *fiveRecording) keep() {
	r.t.Helper()
	if dir := os.Getenv("ACP_BRIDGE_SCREENSHOTS"); dir != "" {
		require.NoError(r.t, os.WriteFile(filepath.Join(dir, "five.txt"), []byte(r.text), 0o644))
	}
}

// What a person does in a card.
const (
	submit     = `; card.querySelector("button[value=answer]").click()`
	pickFirst  = `card.querySelector("input[name=a0][value='0']").click()` + submit
	pickSecond = `card.querySelector("input[name=a0][value='1']").click()` + submit
	permit     = `card.querySelector("button.allow").click()`
)

func inWords(text string) string {
	return fmt.Sprintf(`const own = card.querySelector("textarea[name=t0]"); own.value = %q; own.dispatchEvent(new Event("input", { bubbles: true }))`, text) + submit
}

// answerIn answers the one card of a project: what a script does there is done until the
// card is over, because cards that go move the others, and what has just moved takes no
// click.
func (p *tab) answerIn(project, agent, script string) {
	p.t.Helper()
	p.until(fmt.Sprintf(`(() => {
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

// fiveEditor is an editor whose user looks elsewhere: it shows what comes, and answers
// nothing.
type fiveEditor struct {
	t       *testing.T
	dir     string
	conn    *conn.Conn
	session acp.SessionId
}

func newFiveEditor(t *testing.T, s *watchtest.Site, env []string, dir string, args ...string) *fiveEditor {
	t.Helper()
	path, err := watchtest.Program()
	require.NoError(t, err)
	hub := []string{"--hub", s.URL, "--hub-token-file", s.TokenFile()}
	if args[0] == "proxy" {
		args = append([]string{"proxy"}, append(hub, args[1:]...)...)
	} else {
		args = append(args, hub...)
	}
	cmd := exec.Command(path, args...)
	cmd.Env, cmd.Dir = env, dir
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	e := &fiveEditor{t: t, dir: dir, conn: conn.New(out, in, looksElsewhere{}, nil)}
	t.Cleanup(func() {
		in.Close()
		_, _ = cmd.Process.Wait()
		e.conn.Close()
	})
	_, err = e.conn.Initialize(t.Context(), acp.InitializeRequest{ProtocolVersion: 1})
	require.NoError(t, err)
	opened, err := e.conn.NewSession(t.Context(), acp.NewSessionRequest{Cwd: dir, McpServers: []acp.McpServer{}})
	require.NoError(t, err)
	e.session = opened.SessionId
	return e
}

// prompt sends a prompt; how it ended comes later.
func (e *fiveEditor) prompt(text string) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := e.conn.Call(e.t.Context(), "session/prompt", object{"sessionId": e.session, "prompt": []object{{"type": "text", "text": text}}})
		done <- err
	}()
	return done
}

type looksElsewhere struct{}

func (looksElsewhere) Request(ctx context.Context, _ string, _ json.RawMessage) (any, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
func (looksElsewhere) Notify(context.Context, string, json.RawMessage) {}

// newFiveTool is an MCP client that calls our tool; what it was told comes later.
func newFiveTool(t *testing.T, s *watchtest.Site, home, dir string) func(object) func() (string, error) {
	t.Helper()
	path, err := watchtest.Program()
	require.NoError(t, err)
	cmd := exec.Command(path, "mcp", "--hub", s.URL, "--hub-token-file", s.TokenFile(), "--limit", "1h")
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
