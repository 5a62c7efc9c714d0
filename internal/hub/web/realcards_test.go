package web_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/claude/apitest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
	"github.com/acp-bridge/acp-bridge/internal/modeltest"
	"github.com/acp-bridge/acp-bridge/internal/realtest"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

// mcpVariable makes the test's own binary an MCP server, see playMCP.
const mcpVariable = "ACP_BRIDGE_TEST_MCP"

// wanted is what a card must show for a call of a real agent, and what its person does.
type wanted struct {
	verb  string   // behind the agent's name
	shows []string // in view, with the buttons
	press string   // a selector
	why   string   // typed before
}

const allow, reject = ".acts .allow", ".acts .reject"

// Every kind of permission that the real Claude Code asks for, behind an editor that
// nobody sits at: each is a card that shows what it is, whole and in view, and what is
// pressed there is what Claude Code does.
func TestRealCards(t *testing.T) {
	path := os.Getenv("ACP_BRIDGE_REAL_CLAUDE")
	if path == "" {
		t.Skip("SKIPPED: needs the real Claude Code CLI; set ACP_BRIDGE_REAL_CLAUDE to its path, as .ci/run does")
	}
	t.Parallel()
	b, s, api := newChromium(t), newSite(t, hub.Options{}), apitest.New(t)
	home := tempDir(t)
	e := s.edits(filepath.Join(tempDir(t), "orders"), apitest.Env(api, home), "--claude", path)
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
	e.open([]any{object{"name": "tracker", "command": self, "args": []string{}, "env": []object{{"name": mcpVariable, "value": "1"}}}})
	turn := e.prompt("set the project up")
	p := s.phone(b)
	for _, w := range []wanted{
		{"wants to run a command", []string{"touch one", "touch two", "Make two files"}, allow, ""},
		{"wants to write a file", []string{"notes.txt", "first", "second"}, allow, ""},
		{"wants to edit a file", []string{"notes.txt", "second", "the last"}, allow, ""},
		{"wants to fetch a page", []string{"docs.example.com", "https://docs.example.com/v2/api", "Which endpoints are deprecated?"}, ".reason button", "it is on paper"},
		{"wants to use a tool", []string{"tracker", "create_issue", "Sessions expire too early", "bug"}, allow, ""},
		{"wants to run a command", []string{"touch by-the-sub-agent"}, reject, ""},
	} {
		p.decides("Claude Code", filepath.Base(e.dir), w)
	}
	turn()
	for _, r := range s.board.Settled("", 100) {
		s.receipt(r, "consumed")
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
	p.decides("Claude Code", filepath.Base(e.dir), wanted{"has a plan", []string{"Move sessions", "Add the store", "Drop the table"}, ".acts .allow, .acts .other", ""})
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
			b, s, model := newChromium(t), newSite(t, hub.Options{}), modeltest.New(t)
			start, err := agent.Prepare(tempDir(t), model.URL)
			require.NoError(t, err)
			e := s.edits(start.Dir, start.Env, append([]string{"proxy", "--"}, start.Args...)...)
			model.Script(modeltest.Use("call_real0001", one.tool, one.input), modeltest.Say("Thank you."))
			e.open([]any{})
			turn := e.prompt("make a file")
			s.phone(b).decides(one.shown, filepath.Base(e.dir), wanted{"wants to run a command", []string{"touch made-here"}, allow, ""})
			turn()
			require.FileExists(t, filepath.Join(e.dir, "made-here"))
		})
	}
}

// phone is the page on a phone.
func (s *site) phone(b *chromium) *tab {
	s.t.Helper()
	p := s.visit(b, 390, false)
	p.patience = watchtest.Patience // agents start slowly
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": true})
	return p
}

// decides waits for a card, looks at it as its person would, and presses a button.
func (p *tab) decides(agent, project string, w wanted) {
	p.t.Helper()
	card := `document.querySelector(".card:not(.over)")`
	p.until(card + `?.querySelector("h3").innerText.includes("` + w.verb + `")`)
	p.until(card + `?.scrollIntoView({ block: "end", behavior: "instant" }) ?? !` + card + `.querySelector("` + w.press + `").disabled`)
	p.shot("real-" + agent + "-" + strings.ReplaceAll(w.verb+" "+w.shows[0], " ", "-"))
	// What is painted in the window, and nothing else. The page may move while it is read.
	want, err := json.Marshal(w.shows)
	require.NoError(p.t, err)
	p.until(`(() => { const card = ` + card + `, walk = document.createTreeWalker(card, NodeFilter.SHOW_TEXT), bar = document.querySelector(".bar").getBoundingClientRect().bottom, all = [];
		card.scrollIntoView({ block: "end", behavior: "instant" });
		for (let n; (n = walk.nextNode());) { const r = document.createRange(); r.selectNodeContents(n); const b = r.getBoundingClientRect(); if (b.height && b.top >= bar && b.bottom <= innerHeight) all.push(n.data); }
		const seen = all.join("").replaceAll("\n", " ");
		return card.querySelector("h3").innerText.includes(` + string(quoted(agent)) + `) && card.closest(".lane").querySelector(".lane-name").innerText.includes(` + string(quoted(project)) + `) && ` + string(want) + `.every((text) => seen.includes(text)); })()`)
	id := strings.Trim(p.eval(card+`.id`), `"`)
	if reason := "#" + id + " .reason"; w.why != "" {
		p.insists(`document.querySelector("`+reason+`").open`, func() { p.click(reason + " summary") })
		p.insists(`document.activeElement === document.querySelector("`+reason+` textarea")`, func() { p.click(reason + " textarea") })
		p.words(w.why)
		p.until(`document.querySelector("` + reason + ` textarea").value === "` + w.why + `"`)
	}
	p.insists(`!document.querySelector(".card:not(.over)#`+id+`")`, func() {
		if p.try(`document.querySelector(".card:not(.over)#` + id + ` ` + w.press + `:enabled")`) {
			p.click(".card:not(.over)#" + id + " " + w.press)
		}
	})
}

// editing is an editor that shows nothing: whoever is asked answers elsewhere.
type editing struct {
	t            *testing.T
	dir, session string
	in           io.Writer

	mu      sync.Mutex
	serial  int
	replies map[int]chan gjson.Result
	last    string
}

// edits starts acp-bridge for an editor, in a folder and beside the hub.
func (s *site) edits(dir string, env []string, args ...string) *editing {
	s.t.Helper()
	t := s.t.(*testing.T)
	program, err := watchtest.Program()
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(dir, 0o700))
	credential, err := s.access.Add("laptop", web.CanAsk)
	require.NoError(t, err)
	tokens := tempDir(t)
	require.NoError(t, os.WriteFile(filepath.Join(tokens, "token"), []byte(credential), 0o600))
	hub := []string{"--hub", s.url, "--hub-token-file", filepath.Join(tokens, "token")}
	if args[0] == "proxy" {
		args = append(append([]string{"proxy"}, hub...), args[1:]...)
	} else {
		args = append(hub, args...)
	}
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = dir, append(env, "XDG_STATE_HOME="+tokens)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	e := &editing{t: t, dir: dir, in: in, replies: map[int]chan gjson.Result{}}
	require.NoError(t, cmd.Start())
	read := make(chan struct{})
	go func() { defer close(read); e.read(out) }()
	t.Cleanup(func() {
		in.Close()
		<-read
		_ = cmd.Wait()
	})
	e.call("initialize", object{"protocolVersion": 1, "clientCapabilities": object{}, "clientInfo": object{"name": "a test", "version": "1"}})
	return e
}

func (e *editing) read(out io.Reader) {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		m := gjson.Parse(line)
		e.mu.Lock()
		e.last = line
		if c := e.replies[int(m.Get("id").Int())]; c != nil && !m.Get("method").Exists() {
			c <- m
		}
		e.mu.Unlock()
	}
}

// begin makes a request, and returns what waits for its result.
func (e *editing) begin(method string, params object) func() gjson.Result {
	e.t.Helper()
	e.mu.Lock()
	e.serial++
	id, c := e.serial, make(chan gjson.Result, 1)
	e.replies[id] = c
	e.mu.Unlock()
	line, err := json.Marshal(object{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	require.NoError(e.t, err)
	_, err = fmt.Fprintf(e.in, "%s\n", line)
	require.NoError(e.t, err)
	return func() gjson.Result {
		e.t.Helper()
		select {
		case m := <-c:
			require.False(e.t, m.Get("error").Exists(), "%s: %s", method, m.Raw)
			return m.Get("result")
		case <-time.After(watchtest.Patience):
			e.mu.Lock()
			defer e.mu.Unlock()
			require.Fail(e.t, "no reply to "+method, e.last)
			return gjson.Result{}
		}
	}
}

func (e *editing) call(method string, params object) gjson.Result {
	e.t.Helper()
	return e.begin(method, params)()
}

func (e *editing) open(servers []any) {
	e.t.Helper()
	e.session = e.call("session/new", object{"cwd": e.dir, "mcpServers": servers}).Get("sessionId").Str
	require.NotEmpty(e.t, e.session)
}

// prompt begins a turn, and returns what waits for its end.
func (e *editing) prompt(text string) func() {
	e.t.Helper()
	end := e.begin("session/prompt", object{"sessionId": e.session, "prompt": []object{{"type": "text", "text": text}}})
	return func() {
		e.t.Helper()
		require.Equal(e.t, "end_turn", end().Get("stopReason").Str)
	}
}

// receipt waits until an answer got that far.
func (s *site) receipt(r *hub.Record, far string) {
	s.t.Helper()
	reader := s.board.Read(1)
	for late := time.After(watchtest.Patience); ; {
		_, more := reader.Next()
		now, err := s.board.FindRef(r.Ref())
		require.NoError(s.t, err)
		if now.End.Receipt() == far {
			return
		}
		select {
		case <-more:
		case <-late:
			require.Fail(s.t, "an answer was not "+far, now.Call.Name)
		}
	}
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
