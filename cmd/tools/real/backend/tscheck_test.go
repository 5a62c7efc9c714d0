//go:build unix

package backend_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/repository"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
)

// TestTypeScriptSDK lets an editor built on the official TypeScript SDK talk to
// the acp-bridge binary with the real CLI behind it. Every line that acp-bridge
// writes is held against the SDK's schemas, closed; see .ci/tscheck.
func TestTypeScriptSDK(t *testing.T) {
	t.Parallel()
	modules := os.Getenv("ACP_BRIDGE_TSCHECK")
	if modules == "" {
		t.Skip("SKIPPED: needs the TypeScript SDK; set ACP_BRIDGE_TSCHECK to a folder with node_modules made from .ci/tscheck/package.json, as .ci/run does")
	}
	cli := os.Getenv("ACP_BRIDGE_REAL_CLAUDE")
	if cli == "" {
		t.Skip("SKIPPED: needs the real Claude Code CLI; set ACP_BRIDGE_REAL_CLAUDE to its path, as .ci/run does")
	}
	bridge := buildBridge(t)
	for name, talk := range map[string]func(*tsTalk){
		"plain client":    plainTalk,
		"client of forms": formTalk,
		"MCP servers":     serverTalk,
		"in messages":     messageTalk,
		"no login":        noLoginTalk,
		"providers":       providerTalk,
		"sessions":        sessionsTalk,
		"buffers":         buffersTalk,
		"terminals":       terminalTalk,
		"notices":         noticeTalk,
		"drafts":          draftTalk,
	} {
		t.Run(name, func(t *testing.T) {
			api := apitest.New(t)
			c := &tsTalk{t: t, api: api, dir: t.TempDir(), home: t.TempDir(), Modules: modules, Command: []string{bridge, "--claude", cli}}
			c.Env = append(apitest.Env(api, c.home), "CLAUDE_CODE_ENABLE_TODO_TOOLS=1")
			talk(c)
			c.run()
		})
	}
}

func buildBridge(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, repository.Build(dir, "acp-bridge"))
	return filepath.Join(dir, "acp-bridge")
}

// tsTalk is a conversation for .ci/tscheck/check.mjs. Each step scripts what
// the model says in it, too.
type tsTalk struct {
	t    *testing.T
	api  *apitest.Server
	dir  string   // the sessions' cwd
	home string   // the user's
	seen []string // kinds of messages that must have come

	Modules string   `json:"modules"`
	Command []string `json:"command"`
	Env     []string `json:"env"`
	// Unstable holds it against the drafts of the protocol.
	Unstable bool     `json:"unstable"`
	Steps    []object `json:"steps"`
}

func (c *tsTalk) step(s object) { c.Steps = append(c.Steps, s) }

// does is a request that succeeds.
func (c *tsTalk) does(method string, params object) {
	c.step(object{"request": method, "params": params})
}

// fails is a request that gets an error.
func (c *tsTalk) fails(code int, method string, params object) {
	c.step(object{"request": method, "params": params, "wantError": code})
}

// gets is a request whose result has parts that are known.
func (c *tsTalk) gets(want object, method string, params object) object {
	s := object{"request": method, "params": params, "want": want}
	c.step(s)
	return s
}

func (c *tsTalk) initialize(capabilities object) {
	c.step(object{"request": "initialize", "want": object{"protocolVersion": 1}, "params": object{
		"protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": object{"name": "tscheck", "version": "1"},
	}})
}

func (c *tsTalk) open() {
	c.step(object{"request": "session/new", "keep": "sessionId", "params": object{"cwd": c.dir, "mcpServers": []any{}}})
}

// prompt is one prompt: what the model says to it, what the editor answers
// meanwhile, and how it ends: a stop reason or the code of an error.
func (c *tsTalk) prompt(end any, says []apitest.Reply, answers ...object) object {
	return c.promptBlocks(end, []object{{"type": "text", "text": "hello"}}, says, answers...)
}

func (c *tsTalk) promptBlocks(end any, blocks []object, says []apitest.Reply, answers ...object) object {
	c.api.Script(says...)
	s := object{"request": "session/prompt", "params": object{"sessionId": "$sessionId", "prompt": blocks}, "answers": append([]object{}, answers...)}
	if code, ok := end.(int); ok {
		s["wantError"] = code
	} else {
		s["want"] = object{"stopReason": end}
	}
	c.step(s)
	return s
}

func says(replies ...apitest.Reply) []apitest.Reply { return replies }

// picks answers a permission request.
func picks(about, optionID string) object {
	return object{"method": "session/request_permission", "about": about, "result": object{"outcome": object{"outcome": "selected", "optionId": optionID}}}
}

func types(about, text string) object {
	return object{"method": "session/request_permission", "about": about, "result": object{
		"outcome": object{"outcome": "selected", "optionId": "__other__", "_meta": object{"customText": text}}}}
}

func dismisses(about string) object {
	return object{"method": "session/request_permission", "about": about, "result": object{"outcome": object{"outcome": "cancelled"}}}
}

// hangs never answers; a session/cancel goes out instead.
func hangs(method, about string) object {
	return object{"method": method, "about": about, "hang": true, "notify": "session/cancel", "params": object{"sessionId": "$sessionId"}}
}

func fillsIn(about string, response object) object {
	return object{"method": "elicitation/create", "about": about, "result": response}
}

// sees names kinds of messages that must have come, as check.mjs counts them.
func (c *tsTalk) sees(kinds ...string) { c.seen = append(c.seen, kinds...) }

// run has the conversation and checks what was found.
func (c *tsTalk) run() {
	t := c.t
	t.Helper()
	script, err := json.Marshal(c)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "script.json")
	require.NoError(t, os.WriteFile(file, script, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 2*acptest.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", filepath.Join("..", "..", "..", "..", ".ci", "tscheck", "check.mjs"), file)
	// Without its reader acp-bridge ends by itself, so an interrupt is enough.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	start := time.Now()
	err = cmd.Run()
	if !gjson.ValidBytes(out.Bytes()) || out.Len() == 0 {
		require.FailNow(t, "check.mjs did not report", "%v\n%s\n%s", err, out.String(), errOut.String())
	}
	c.judge(gjson.ParseBytes(out.Bytes()), time.Since(start), errOut.String())
}

func (c *tsTalk) judge(r gjson.Result, took time.Duration, log string) {
	t := c.t
	require.Empty(t, r.Get("selfTest.mistakes").Array(), "the check itself is wrong")
	require.NotZero(t, r.Get("selfTest.cases").Int())
	require.Empty(t, r.Get("spoilt.missed").Array(), "the check misses what was spoilt on purpose")
	require.NotZero(t, r.Get("spoilt.cases").Int())
	var kinds []string
	for kind, n := range r.Get("kinds").Map() {
		kinds = append(kinds, fmt.Sprintf("%5d  %s", n.Int(), kind))
	}
	slices.SortFunc(kinds, func(a, b string) int { return strings.Compare(a[7:], b[7:]) })
	t.Logf("%d messages checked in %.1f s with SDK %s; self-test: %d cases, %d spoilt messages all found\n%s",
		r.Get("messages").Int(), took.Seconds(), r.Get("sdk").Str, r.Get("selfTest.cases").Int(), r.Get("spoilt.cases").Int(), strings.Join(kinds, "\n"))
	for _, kind := range c.seen {
		if !slices.ContainsFunc(kinds, func(k string) bool { return k[7:] == kind }) {
			t.Errorf("no message of this kind came, so none was checked: %s", kind)
		}
	}
	if log != "" {
		t.Log("log of acp-bridge:\n" + log)
	}
	for _, v := range r.Get("violations").Array() {
		t.Errorf("VIOLATION (%s, %d times) %s: %s\n\t%s", v.Get("judge").Str, v.Get("times").Int(), v.Get("where").Str, v.Get("text").Str, v.Get("line").Str)
	}
	if f := r.Get("failure").Str; f != "" {
		t.Errorf("the conversation broke off: %s", f)
	}
}

func plainTalk(c *tsTalk) {
	c.initialize(object{})
	c.handshake()
	c.content()
	c.questions()
	c.tools()
	c.plans()
	c.endings()
	c.does("session/close", object{"sessionId": "$sessionId"})
	c.fails(-32002, "session/prompt", object{"sessionId": "$sessionId", "prompt": []object{{"type": "text", "text": "hello"}}})
	c.sees("result initialize", "result session/close")
}

// handshake covers all that is done without a prompt.
func (c *tsTalk) handshake() {
	c.step(object{"line": `{"jsonrpc":"2.0","id":1,`, "wantError": -32700})
	c.step(object{"line": `[{"jsonrpc":"2.0","id":1,"method":"initialize"}]`, "wantError": -32600})
	c.fails(-32601, "session/teleport", object{})
	c.fails(-32601, "_example/extension", object{})
	c.does("authenticate", object{"methodId": "anthropic-api-key"})
	c.fails(-32602, "authenticate", object{"methodId": "carrier-pigeon"})
	c.fails(-32603, "logout", object{})
	c.fails(-32602, "session/new", object{"cwd": "not/absolute", "mcpServers": []any{}})
	c.fails(-32602, "session/new", object{"cwd": 7})
	c.open()
	c.does("session/set_mode", object{"sessionId": "$sessionId", "modeId": "acceptEdits"})
	c.does("session/set_mode", object{"sessionId": "$sessionId", "modeId": "default"})
	c.fails(-32602, "session/set_mode", object{"sessionId": "$sessionId", "modeId": "yolo"})
	c.does("session/set_config_option", object{"sessionId": "$sessionId", "configId": "model", "value": "haiku"})
	c.does("session/set_config_option", object{"sessionId": "$sessionId", "configId": "mode", "value": "plan"})
	c.does("session/set_config_option", object{"sessionId": "$sessionId", "configId": "mode", "value": "default"})
	c.fails(-32602, "session/set_config_option", object{"sessionId": "$sessionId", "configId": "colour", "value": "red"})
	c.fails(-32002, "session/set_mode", object{"sessionId": "nobody", "modeId": "default"})
	c.fails(-32002, "session/prompt", object{"sessionId": "nobody", "prompt": []object{{"type": "text", "text": "hello"}}})
	c.does("session/close", object{"sessionId": "nobody"}) // the SDK takes "not found" for closed
	c.sees("error -32700", "error -32600", "error session/teleport -32601", "error _example/extension -32601",
		"result authenticate", "error authenticate -32602", "error logout -32603", "error session/new -32602",
		"result session/new", "notification session/update available_commands_update",
		"result session/set_config_option", "error session/set_config_option -32602",
		"notification session/update config_option_update", "notification session/update current_mode_update",
		"result session/set_mode", "error session/set_mode -32602", "error session/set_mode -32002", "error session/prompt -32002", "error session/close -32002")
}

// pixel is a picture of one pixel.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func (c *tsTalk) content() {
	c.promptBlocks("end_turn", []object{
		{"type": "text", "text": "look"},
		{"type": "resource_link", "name": "notes", "uri": "https://example.com/notes"},
		{"type": "resource", "resource": object{"uri": "file:///notes.txt", "mimeType": "text/plain", "text": "remember"}},
		{"type": "image", "mimeType": "image/png", "data": pixel},
	}, says(apitest.Use(apitest.Thinking("let me", " think"), apitest.Text("I see", " \"\u2028<b>\" & 🦀\n", "a pixel."))))
	c.promptBlocks(-32602, []object{{"type": "audio", "mimeType": "audio/wav", "data": "AAAA"}}, nil)
	c.promptBlocks(-32602, []object{}, nil)
	c.sees("notification session/update agent_message_chunk", "notification session/update agent_thought_chunk", "result session/prompt end_turn")
}

func (c *tsTalk) questions() {
	database := question("Which database?", "Database", false, "PostgreSQL", "SQLite")
	features := question("Which features?", "Features", true, "Auth", "Logs, metrics", "Cache")
	c.prompt("end_turn", says(apitest.Use(apitest.Text("Let me ask."), asks("toolu_q1", database)), apitest.Say("Noted.")),
		picks("Which database?", "SQLite"))
	c.prompt("end_turn", says(apitest.Use(asks("toolu_q2", database, features, question("Which licence?", "", false, "MIT", "Apache"))), apitest.Say("Noted.")),
		picks("Which database?", "PostgreSQL"), picks("Which features?", "Cache"), picks("Done: Cache", "Auth"), picks("Done: Auth, Cache", "__done__"), types("Which licence?", "BSD, please"))
	// Other without a text is asked for in the conversation.
	c.prompt("end_turn", says(apitest.Use(asks("toolu_q3", database)), apitest.Say("Noted.")), picks("Which database?", "__other__"))
	c.prompt("end_turn", nil)
	// An id that was never offered is no answer: the next way to ask.
	c.prompt("end_turn", says(apitest.Use(asks("toolu_q4", database)), apitest.Say("Noted.")), picks("Which database?", "Oracle"))
	c.prompt("end_turn", nil)
	c.step(object{"request": "session/new", "keep": "sessionId", "params": object{"cwd": c.dir, "mcpServers": []any{}}})
	c.prompt("end_turn", says(apitest.Use(asks("toolu_q5", question("Only one?", "One", false, "a"))), apitest.Say("Sorry.")))
	c.prompt("cancelled", says(apitest.Use(asks("toolu_q6", database))), dismisses("Which database?"))
	c.prompt("cancelled", says(apitest.Use(asks("toolu_q7", database))), hangs("session/request_permission", "Which database?"))
	c.sees("request session/request_permission", "notification $/cancel_request", "result session/prompt cancelled",
		"tool kind other", "tool status pending", "tool status completed", "tool status failed", "tool content content text",
		"meta claudeCode questionType", "meta acp-bridge questions", "meta acp-bridge picked", "meta acp-bridge waitingFor")
}

func (c *tsTalk) tools() {
	use := func(id, name string, input object) apitest.Reply {
		return apitest.Use(apitest.ToolUse(id, name, input))
	}
	file, picture := filepath.Join(c.dir, "a.txt"), filepath.Join(c.dir, "a.png")
	data, err := base64.StdEncoding.DecodeString(pixel)
	require.NoError(c.t, err)
	require.NoError(c.t, os.WriteFile(picture, data, 0o600))
	bash := func(id, command string) apitest.Reply {
		return use(id, "Bash", object{"command": command, "description": "test"})
	}
	c.prompt("end_turn", says(bash("toolu_b1", "mkdir one"), bash("toolu_b2", "mkdir two && ls -a"), bash("toolu_b3", "mkdir one"), bash("toolu_b4", "touch x"), apitest.Say("done")),
		picks("mkdir one", "allow"), picks("mkdir two", "allow_always"), picks("mkdir one", "allow"), picks("touch x", "reject"))
	c.prompt("end_turn", says(
		use("toolu_w1", "Write", object{"file_path": file, "content": "hello\nworld\n"}),
		use("toolu_e1", "Edit", object{"file_path": file, "old_string": "world", "new_string": "moon"}),
		use("toolu_e2", "Edit", object{"file_path": file, "old_string": "not there", "new_string": "moon"}),
		use("toolu_r1", "Read", object{"file_path": file}),
		use("toolu_r2", "Read", object{"file_path": filepath.Join(c.dir, "nothing.txt")}),
		apitest.Say("done")),
		picks("a.txt", "allow"), picks("a.txt", "accept_edits"))
	c.prompt("end_turn", says(
		use("toolu_p1", "Read", object{"file_path": picture}),
		use("toolu_g1", "Grep", object{"pattern": "moon", "path": c.dir, "output_mode": "content"}),
		use("toolu_g2", "Glob", object{"pattern": "*.txt"}),
		use("toolu_n1", "NoSuchTool", object{"any": "thing"}),
		use("toolu_f1", "WebFetch", object{"url": "https://example.com/", "prompt": "what is it"}),
		apitest.Say("done")), picks("example.com", "reject"))
	c.subAgent(object{})
	c.sees("tool kind execute", "tool kind edit", "tool kind read", "tool kind search", "tool kind fetch", "tool status in_progress",
		"tool content diff", "tool content content image", "tool locations", "notification session/update tool_call", "notification session/update tool_call_update",
		"notification session/update current_mode_update")
}

// subAgent covers calls that are attached to a parent.
func (c *tsTalk) subAgent(input object) {
	input["description"], input["prompt"], input["subagent_type"] = "delegate", "work of the sub-agent", "general-purpose"
	c.api.When(func(r apitest.Request) bool {
		return strings.Contains(r.Get("messages.0.content").Raw, "work of the sub-agent")
	}, apitest.Use(apitest.ToolUse("toolu_s2", "Bash", object{"command": "echo sub", "description": "test"})), apitest.Say("the sub-agent is done"))
	c.prompt("end_turn", says(apitest.Use(apitest.ToolUse("toolu_s1", "Agent", input)), apitest.Say("done")))
	c.sees("tool kind think", "meta claudeCode toolName", "meta claudeCode parentToolUseId")
}

// terminalTalk is with a client that shows commands in terminals and logs in in
// one.
func terminalTalk(c *tsTalk) {
	c.initialize(object{"auth": object{"terminal": true}, "_meta": object{"terminal_output": true, "terminal-auth": true}})
	c.open()
	bash := func(id, command string) apitest.Reply {
		return apitest.Use(apitest.ToolUse(id, "Bash", object{"command": command, "description": "test"}))
	}
	c.prompt("end_turn", says(bash("toolu_b1", "echo one; mkdir one"), bash("toolu_b2", "mkdir one"), bash("toolu_b3", "touch x"),
		bash("toolu_b4", "for i in 1 2 3 4 5; do touch $i; echo line $i; sleep 1; done"), apitest.Say("done")),
		picks("mkdir one", "allow"), picks("mkdir one", "allow"), picks("touch x", "reject"), picks("line $i", "allow"))
	c.sees("tool content terminal", "tool status in_progress", "tool status completed", "tool status failed",
		"meta terminal_info terminal_id", "meta terminal_output data", "meta terminal_exit exit_code", "result initialize")
}

func (c *tsTalk) plans() {
	c.prompt("end_turn", says(
		apitest.Use(apitest.ToolUse("toolu_t1", "TaskCreate", object{"subject": "Plan it", "description": "first"})),
		apitest.Use(apitest.ToolUse("toolu_t2", "TaskCreate", object{"subject": "Do it", "description": "second", "activeForm": "Doing it"})),
		apitest.Use(apitest.ToolUse("toolu_t3", "TaskUpdate", object{"taskId": "1", "status": "completed"})),
		apitest.Use(apitest.ToolUse("toolu_t4", "TaskUpdate", object{"taskId": "2", "status": "in_progress"})),
		apitest.Say("done")))
	c.does("session/set_mode", object{"sessionId": "$sessionId", "modeId": "plan"})
	c.prompt("end_turn", says(apitest.Use(apitest.ToolUse("toolu_x1", "ExitPlanMode", object{"plan": "1. do it"})), apitest.Say("done")),
		picks("1. do it", "default"))
	c.sees("notification session/update plan", "tool kind switch_mode")
}

// endings covers the ways in which a prompt ends.
func (c *tsTalk) endings() {
	fail := apitest.Fail(500, "api_error", "the model is on holiday")
	c.prompt(-32603, says(fail, fail))
	refusal := apitest.Say("I would rather not.")
	refusal.StopReason = "refusal"
	c.prompt("refusal", says(refusal, refusal)) // the CLI goes on once by itself
	// The CLI asks for more a few times by itself.
	full := apitest.Say("and so on")
	full.StopReason, full.Times = "max_tokens", 4
	c.prompt("max_tokens", says(full))
	c.prompt(-32603, says(apitest.Use(apitest.ToolUse("toolu_k1", "Bash", object{"command": "kill -9 $PPID", "description": "test"}))),
		picks("kill -9", "allow"))
	c.prompt("end_turn", says(apitest.Say("I am back")))
	cancelled := apitest.Say("I have", " begun")
	cancelled.Hold = make(chan struct{})
	c.prompt("cancelled", says(cancelled))["onUpdate"] = object{
		"kind": "agent_message_chunk", "notify": "session/cancel", "params": object{"sessionId": "$sessionId"}}
	c.sees("error session/prompt -32603", "result session/prompt refusal", "result session/prompt max_tokens")
}

func formTalk(c *tsTalk) {
	database := question("Which database?", "Database", false, "PostgreSQL", "SQLite")
	database["options"].([]object)[0]["preview"] = "CREATE TABLE"
	features := question("Which features?", "Features", true, "Auth", "Logs, metrics", "Cache")
	c.initialize(object{"elicitation": object{"form": object{}}})
	c.open()
	c.prompt("end_turn", says(apitest.Use(asks("toolu_f1", database, features)), apitest.Say("Noted.")),
		fillsIn("Which database?", object{"action": "accept", "content": object{"question_0": "SQLite", "question_1": []string{"Auth", "Cache"}}}))
	c.prompt("end_turn", says(apitest.Use(asks("toolu_f2", database)), apitest.Say("Noted.")),
		fillsIn("Which database?", object{"action": "accept", "content": object{"question_0_custom": "DuckDB"}}))
	c.prompt("end_turn", says(apitest.Use(asks("toolu_f3", features)), apitest.Say("Noted.")), fillsIn("Which features?", object{"action": "decline"}))
	c.prompt("cancelled", says(apitest.Use(asks("toolu_f4", features))), fillsIn("Which features?", object{"action": "cancel"}))
	c.prompt("cancelled", says(apitest.Use(asks("toolu_f5", features))), hangs("elicitation/create", "Which features?"))
	c.does("session/close", object{"sessionId": "$sessionId"})
	c.sees("request elicitation/create form", "notification $/cancel_request", "result session/prompt end_turn", "result session/prompt cancelled",
		"tool status completed", "tool status failed", "result session/close")
}

// serverTalk has the forms of an MCP server, in one piece and in requests.
func serverTalk(c *tsTalk) {
	self, err := os.Executable()
	require.NoError(c.t, err)
	c.initialize(object{"elicitation": object{"form": object{}, "url": object{}}})
	c.step(object{"request": "session/new", "keep": "sessionId", "params": object{"cwd": c.dir, "mcpServers": []any{
		object{"name": "shop", "command": self, "args": []string{}, "env": []object{{"name": mcpVariable, "value": "1"}}}}}})
	elicits := func(id, params, then string) []apitest.Reply {
		return says(apitest.Use(apitest.ToolUse(id, "mcp__shop__form", object{"params": params, "then": then})), apitest.Say("Noted."))
	}
	allow := picks("shop: form", "allow_always")
	c.prompt("end_turn", elicits("toolu_s1", signUp, ""), allow,
		fillsIn("Who are you?", object{"action": "accept", "content": object{"name": "Bo", "age": 44, "days": []string{"mo"}}}))
	c.prompt("end_turn", elicits("toolu_s2", logIn, "complete"), fillsIn("example.com", object{"action": "accept"}))
	// A wrong type: from here on forms come as requests.
	c.prompt("end_turn", elicits("toolu_s3", signUp, ""),
		fillsIn("Who are you?", object{"action": "accept", "content": object{"name": "Bo", "age": "44", "days": []string{"mo"}}}),
		types("as on your badge", "Bo"), types("age", "44"), picks("mail", "Skip"), picks("Newsletter", "Yes"), picks("size", "Decline"))
	c.sees("request elicitation/create form", "request elicitation/create url", "notification elicitation/complete",
		"tool status completed", "tool status failed", "result session/prompt end_turn")
}

func messageTalk(c *tsTalk) {
	c.Command = append(c.Command, "--ask", "message", "--", "--max-turns", "3")
	c.initialize(object{})
	c.open()
	c.prompt("end_turn", says(apitest.Use(asks("toolu_m1", question("Which features?", "Features", true, "Auth", "Cache"))), apitest.Say("Noted.")))
	c.promptBlocks("end_turn", []object{{"type": "text", "text": "1, 2"}}, nil)
	look := func(id string) apitest.Reply {
		return apitest.Use(apitest.ToolUse(id, "Bash", object{"command": "ls", "description": "test"}))
	}
	c.prompt("max_turn_requests", says(look("toolu_m3"), look("toolu_m4"), look("toolu_m5"), look("toolu_m6")))
	c.sees("result session/prompt end_turn", "result session/prompt max_turn_requests", "meta acp-bridge waitingFor", "tool status completed", "notification session/update agent_message_chunk")
}

// noticeTalk is with a client that shows notices, and how a conversation is
// compacted.
func noticeTalk(c *tsTalk) {
	c.initialize(object{"session": object{"notices": object{}, "compaction": object{}}})
	c.step(object{"request": "session/new", "keep": "sessionId", "params": object{"cwd": c.dir, "mcpServers": []any{},
		"_meta": object{"claudeCode": object{"options": object{"allowedTools": []string{"Bash"}}}}}})
	c.prompt("end_turn", says(apitest.Say("Hello.")))
	s := c.promptBlocks("end_turn", []object{{"type": "text", "text": "/compact"}}, says(apitest.Say("<summary>\nWe said hello.\n</summary>")))
	s["shows"] = []string{"We said hello."}
	c.prompt("end_turn", says(apitest.Say("Here again.")))
	c.does("session/load", object{"sessionId": "$sessionId", "cwd": c.dir, "mcpServers": []any{}})
	c.sees("notification session/update notice", "notification session/update compaction_update",
		"notification session/update compaction_summary_chunk", "replay compaction_update completed")
}

// draftTalk is with a client that knows what is not stable yet.
func draftTalk(c *tsTalk) {
	c.Unstable = true
	c.step(object{"request": "initialize", "params": object{
		"protocolVersion": 1, "clientCapabilities": object{"plan": object{}, "subagents": object{}, "session": object{"notices": object{}, "compaction": object{}}},
	}, "want": object{"protocolVersion": 1}})
	c.gets(object{"state": "authenticated"}, "auth/status", object{})
	c.step(object{"request": "session/new", "keep": "sessionId", "params": object{"cwd": c.dir, "mcpServers": []any{},
		"systemPrompt": object{"mode": "append", "content": []object{{"type": "text", "text": "Be brief."}}}}})
	c.fails(-32602, "session/new", object{"cwd": c.dir, "mcpServers": []any{}, "systemPrompt": object{"mode": "_shout", "content": []object{{"type": "text", "text": "x"}}}})
	c.prompt("end_turn", says(apitest.Say("Hello.")))["want"] = object{"stopReason": "end_turn", "usage.inputTokens": 10}
	c.gets(object{"status": "open"}, "session/status", object{"sessionId": "$sessionId"})
	c.gets(object{"title": "My plans"}, "session/set_title", object{"sessionId": "$sessionId", "title": " My\nplans "})
	c.fails(-32602, "session/set_title", object{"sessionId": "$sessionId", "title": " "})
	c.does("session/set_mode", object{"sessionId": "$sessionId", "modeId": "plan"})
	c.prompt("end_turn", says(apitest.Use(apitest.ToolUse("toolu_x1", "ExitPlanMode", object{"plan": "1. do it"})), apitest.Say("done")),
		picks("1. do it", "default"))
	seen := len(c.seen)
	c.subAgent(object{"run_in_background": false})
	c.seen = c.seen[:seen] // it is a session of its own here
	c.does("session/close", object{"sessionId": "$sessionId"})
	c.gets(object{"status": "saved"}, "session/status", object{"sessionId": "$sessionId"})
	c.gets(object{"sessions.0.title": "My plans"}, "session/list", object{"cwd": c.dir})
	c.gets(object{"title": "Yours"}, "session/set_title", object{"sessionId": "$sessionId", "title": "Yours"})
	c.gets(object{"sessions.0.title": "Yours"}, "session/list", object{"cwd": c.dir})
	c.fails(-32002, "session/status", object{"sessionId": "fedcba98-89ab-4def-8123-456789abcdef"})
	this := object{"sessionId": "$sessionId"}
	c.does("session/archive", this)
	c.gets(object{"sessions.length": 0}, "session/list", object{"cwd": c.dir})
	c.gets(object{"sessions.length": 1, "sessions.0.archived": true}, "session/list", object{"cwd": c.dir, "archived": "only"})
	c.does("session/unarchive", this)
	c.gets(object{"sessions.length": 1, "sessions.0.archived": false}, "session/list", object{"cwd": c.dir})
	c.fails(-32602, "session/list", object{"archived": "_some"})
	c.does("session/load", object{"sessionId": "$sessionId", "cwd": c.dir, "mcpServers": []any{}})
	c.does("session/archive", this) // while it is open
	c.gets(object{"status": "saved"}, "session/status", this)
	c.does("session/load", object{"sessionId": "$sessionId", "cwd": c.dir, "mcpServers": []any{}})
	c.prompt("end_turn", says(apitest.Say("Here again.")))
	c.gets(object{"sessions.length": 1, "sessions.0.archived": false}, "session/list", object{"cwd": c.dir}) // a prompt takes it out
	c.sees("result session/archive", "result session/unarchive", "result auth/status", "result session/status", "result session/set_title", "notification session/update plan_update", "notification session/update subagent_update")
}

// providerTalk is with a client that says where the model is.
func providerTalk(c *tsTalk) {
	c.Unstable = true
	c.Command = append(c.Command, "--trust-editor")
	c.initialize(object{"plan": object{}})
	c.gets(object{"providers.length": 1, "providers.0.providerId": "main"}, "providers/list", object{})
	c.does("providers/set", object{"providerId": "main", "apiType": "anthropic", "baseUrl": c.api.URL, "headers": object{"X-Editor": "key"}})
	c.fails(-32602, "providers/set", object{"providerId": "other", "apiType": "anthropic", "baseUrl": c.api.URL})
	c.gets(object{"providers.0.current.baseUrl": c.api.URL}, "providers/list", object{})
	c.open()
	c.prompt("end_turn", says(apitest.Say("Hello.")))
	c.does("providers/disable", object{"providerId": "main"})
	c.sees("result providers/list", "result providers/set", "result providers/disable", "result session/prompt end_turn")
}

func noLoginTalk(c *tsTalk) {
	c.Unstable = true
	c.Env = apitest.EnvNoKey(c.api, c.t.TempDir())
	c.initialize(object{"plan": object{}})
	c.fails(-32000, "authenticate", object{"methodId": "claude-login"})
	c.open()
	c.prompt(-32000, nil)
	c.sees("notification auth/status_update", "error authenticate -32000", "error session/prompt -32000", "result session/new")
}

// sessionsTalk covers what is done with sessions that are on disk.
func sessionsTalk(c *tsTalk) {
	c.initialize(object{})
	c.list()
	c.unknown()
	c.open()
	c.history()
	here := object{"sessionId": "$sessionId", "cwd": c.dir, "mcpServers": []any{}}
	c.gets(object{"sessions.length": 1, "sessions.0.sessionId": "$sessionId", "sessions.0.title": "begin", "nextCursor": nil},
		"session/list", object{"cwd": c.dir})
	c.replays(here) // of a session that is open
	c.does("session/close", object{"sessionId": "$sessionId"})
	c.replays(here)
	c.prompt("end_turn", says(apitest.Use(apitest.ToolUse("toolu_l1", "Read", object{"file_path": filepath.Join(c.dir, "a.txt")})), apitest.Say("Still here.")))
	c.does("session/close", object{"sessionId": "$sessionId"})

	c.does("session/resume", object{"sessionId": "$sessionId", "cwd": c.dir})
	c.prompt("end_turn", says(apitest.Say("Here again.")))
	c.does("session/resume", here) // of a session that is open
	c.prompt("end_turn", says(apitest.Say("And again.")))

	c.step(object{"request": "session/fork", "params": here, "keep": "sessionId", "as": "fork"})
	c.prompt("end_turn", says(apitest.Say("A fork.")))["params"].(object)["sessionId"] = "$fork"
	c.gets(object{"sessions.length": 2}, "session/list", object{"cwd": c.dir})
	fork := object{"sessionId": "$fork", "cwd": c.dir, "mcpServers": []any{}}
	c.replays(fork)["shows"] = []string{"begin", "A fork."}
	c.does("session/delete", object{"sessionId": "$fork"}) // while it is open
	c.does("session/close", object{"sessionId": "$sessionId"})
	c.does("session/delete", object{"sessionId": "$sessionId"})
	c.fails(-32002, "session/load", here)
	c.gets(object{"sessions.length": 0, "nextCursor": nil}, "session/list", object{"cwd": c.dir})
	c.sees("result session/load", "result session/resume", "result session/fork", "result session/delete", "result session/close",
		"notification session/update session_info_update", "notification session/update usage_update", "notification session/update available_commands_update")
}

// list covers the pages of a list, with sessions that were there before.
func (c *tsTalk) list() {
	elsewhere := c.t.TempDir()
	folder := transcript.Dir(filepath.Join(c.home, ".claude"), elsewhere)
	require.NoError(c.t, os.MkdirAll(folder, 0o700))
	for i := range 51 {
		line, err := json.Marshal(object{"type": "user", "uuid": "u1", "parentUuid": nil, "cwd": elsewhere,
			"timestamp": "2026-11-15T02:27:16.447Z", "message": object{"role": "user", "content": fmt.Sprintf("prompt \"%d\" 🦀", i)}})
		require.NoError(c.t, err)
		name := fmt.Sprintf("01234567-89ab-4def-8123-%012d.jsonl", i)
		require.NoError(c.t, os.WriteFile(filepath.Join(folder, name), append(line, '\n'), 0o600))
	}
	for _, where := range []object{{"cwd": elsewhere}, {}} {
		c.gets(object{"sessions.length": 50, "sessions.0.cwd": elsewhere}, "session/list", where)["keep"] = "nextCursor"
		next := object{"cursor": "$nextCursor"}
		for k, v := range where {
			next[k] = v
		}
		c.gets(object{"sessions.length": 1, "nextCursor": nil}, "session/list", next)
	}
	c.gets(object{"sessions.length": 0, "nextCursor": nil}, "session/list", object{"cwd": c.dir})
	c.fails(-32602, "session/list", object{"cursor": "nonsense"})
	c.sees("result session/list", "error session/list -32602")
}

// unknown covers sessions that are not there.
func (c *tsTalk) unknown() {
	nobody := func(id string) object { return object{"sessionId": id, "cwd": c.dir, "mcpServers": []any{}} }
	for _, method := range []string{"session/load", "session/resume", "session/fork"} {
		c.fails(-32002, method, nobody("fedcba98-89ab-4def-8123-456789abcdef"))
		c.sees("error " + method + " -32002")
	}
	c.does("session/delete", object{"sessionId": "fedcba98-89ab-4def-8123-456789abcdef"}) // the SDK takes "not found" for deleted
	c.fails(-32602, "session/load", object{"sessionId": 7})
	c.sees("error session/delete -32002", "error session/load -32602")
}

// history is a conversation that has everything which is replayed.
func (c *tsTalk) history() {
	database := question("Which database?", "Database", false, "PostgreSQL", "SQLite")
	use := func(id, name string, input object) apitest.Reply {
		return apitest.Use(apitest.ToolUse(id, name, input))
	}
	file := filepath.Join(c.dir, "a.txt")
	c.promptBlocks("end_turn", []object{
		{"type": "text", "text": "begin"},
		{"type": "resource_link", "name": "notes", "uri": "https://example.com/notes"},
		{"type": "resource", "resource": object{"uri": "file:///notes.txt", "mimeType": "text/plain", "text": "remember"}},
		{"type": "image", "mimeType": "image/png", "data": pixel},
	}, says(
		apitest.Use(apitest.Thinking("let me", " see"), apitest.Text("I ask."), asks("toolu_h1", database)),
		use("toolu_h2", "Write", object{"file_path": file, "content": "hello\n"}),
		use("toolu_h3", "Edit", object{"file_path": file, "old_string": "hello", "new_string": "moon"}),
		use("toolu_h4", "Bash", object{"command": "mkdir " + c.dir, "description": "test"}),
		use("toolu_h5", "TaskCreate", object{"subject": "Plan it", "description": "first", "activeForm": "Planning"}),
		use("toolu_h6", "TaskUpdate", object{"taskId": "1", "status": "in_progress"}),
		apitest.Say("Done."),
	), picks("Which database?", "SQLite"), picks("a.txt", "allow"), picks("a.txt", "allow"), picks("mkdir", "allow"))
	// In the background it would end in a turn of the CLI's own, between the
	// prompts that follow.
	c.subAgent(object{"run_in_background": false})
	c.prompt("cancelled", says(apitest.Use(asks("toolu_h7", database))), dismisses("Which database?"))
	c.prompt("end_turn", says(use("toolu_h8", "Bash", object{"command": "touch x", "description": "test"}), apitest.Say("Never mind.")), picks("touch x", "reject"))
	c.prompt("cancelled", says(use("toolu_h9", "Bash", object{"command": "touch y", "description": "test"})), hangs("session/request_permission", "touch y"))
}

// replays loads a session that had the history.
func (c *tsTalk) replays(params object) object {
	s := object{"request": "session/load", "params": params, "shows": []string{
		"begin", "let me see", "I ask.", "Which database? → SQLite", "moon", "Plan it", "Never mind.", "Not answered",
	}}
	c.step(s)
	c.sees("replay user_message_chunk text", "replay user_message_chunk image", "replay agent_message_chunk text", "replay agent_thought_chunk text",
		"replay tool_call pending", "replay tool_call completed", "replay tool_call_update completed", "replay tool_call_update failed", "replay plan")
	return s
}

// buffersTalk is an editor that reads out what is not saved.
func buffersTalk(c *tsTalk) {
	file := filepath.Join(c.dir, "a.txt")
	require.NoError(c.t, os.WriteFile(file, []byte("saved\n"), 0o600))
	read := func(id string) []apitest.Reply {
		return says(apitest.Use(apitest.ToolUse(id, "Read", object{"file_path": file})), apitest.Say("I see."))
	}
	const method = "fs/read_text_file"
	c.initialize(object{"fs": object{"readTextFile": true}})
	c.open()
	c.prompt("end_turn", read("toolu_r1"), object{"method": method, "about": file, "result": object{"content": "typed\n"}})
	c.prompt("end_turn", read("toolu_r2"), object{"method": method, "about": file, "result": object{"content": "saved\n"}})
	c.prompt("end_turn", read("toolu_r3"), object{"method": method, "about": file, "error": -32002})
	c.prompt("cancelled", read("toolu_r4"), hangs(method, file))
	c.does("session/close", object{"sessionId": "$sessionId"})
	c.sees("request fs/read_text_file", "notification $/cancel_request", "tool kind read", "tool status completed")
}
