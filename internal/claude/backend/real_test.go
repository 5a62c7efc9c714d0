package backend_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/claude/apitest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
)

// real joins an editor to the real Claude Code CLI, which talks to a stand-in
// for the Messages API.
func real(t *testing.T, replies ...apitest.Reply) (*editor, *apitest.Server) {
	t.Helper()
	path := realClaude(t)
	api := apitest.New(t)
	api.Script(replies...)
	return serve(t, backend.Options{Claude: path, Env: apitest.Env(api, t.TempDir())}), api
}

// realClaude is the path of the real CLI; without it the test is skipped.
func realClaude(t *testing.T) string {
	t.Helper()
	path := os.Getenv("ACP_BRIDGE_REAL_CLAUDE")
	if path == "" {
		t.Skip("SKIPPED: needs the real Claude Code CLI; set ACP_BRIDGE_REAL_CLAUDE to its path, as .ci/run does")
	}
	return path
}

type object = map[string]any

func question(text, header string, multi bool, labels ...string) object {
	var options []object
	for _, l := range labels {
		options = append(options, object{"label": l, "description": "about " + l})
	}
	return object{"question": text, "header": header, "multiSelect": multi, "options": options}
}

func asks(id string, questions ...object) apitest.Block {
	return apitest.ToolUse(id, "AskUserQuestion", object{"questions": questions})
}

// told is what the model finally got for a tool call.
func told(t *testing.T, api *apitest.Server, id string) apitest.ToolResult {
	t.Helper()
	for _, r := range api.Main() {
		if result, ok := r.ToolResult(id); ok {
			return result
		}
	}
	require.Fail(t, "the model never got a result", id)
	return apitest.ToolResult{}
}

func TestRealQuestion(t *testing.T) {
	t.Parallel()
	e, api := real(t, apitest.Use(apitest.Text("Let me ask."), asks("toolu_1", question("Which database?", "Database", false, "PostgreSQL", "SQLite"))), apitest.Say("Noted."))
	s := e.ready()
	turn := e.prompt(s, "hello")
	r := e.asked("Which database?")
	require.Equal(t, "PostgreSQL=PostgreSQL - about PostgreSQL|SQLite=SQLite - about SQLite|__other__=Other (type custom answer)", r.options())
	r.selects("SQLite")
	turn.ends(acp.StopReasonEndTurn)
	require.Contains(t, told(t, api, "toolu_1").Text, `"Which database?"="SQLite"`)
	require.Equal(t, "Let me ask.Noted.", e.said(s))
	tool := e.tool(s, "toolu_1")
	require.Equal(t, "x", tool["drawn"])
	require.Equal(t, "completed", tool["status"])
	require.Contains(t, tool["content"], "Which database? → SQLite")
	e.await(s, "usage", func(u gjson.Result) bool { return u.Get("used").Int() > 0 && u.Get("size").Int() > u.Get("used").Int() })
}

func TestRealQuestionKinds(t *testing.T) {
	t.Parallel()
	e, api := real(t, apitest.Use(asks("toolu_1",
		question("Which database?", "Database", false, "PostgreSQL", "SQLite"),
		question("Which features?", "Features", true, "Auth", "Logs, metrics", "Cache"),
		question("Which licence?", "Licence", false, "MIT", "Apache"),
		question("Which port?", "Port", false, "80", "8080"),
	)), apitest.Say("Noted."))
	s := e.ready()
	turn := e.prompt(s, "hello")
	e.asked("Which database?").selects("PostgreSQL")
	e.asked("Which features?").selects("Logs, metrics")
	e.asked(`Done: \"Logs, metrics\"`).selects("Auth")
	e.asked(`Done: Auth, \"Logs, metrics\"`).selects("__done__")
	e.asked("Which licence?").types("BSD, please")
	e.asked("Which port?").selects("8080")
	turn.ends(acp.StopReasonEndTurn)
	got := told(t, api, "toolu_1").Text
	for _, want := range []string{`"Which database?"="PostgreSQL"`, `"Which licence?"="BSD, please"`, `"Which port?"="8080"`} {
		require.Contains(t, got, want)
	}
	require.Contains(t, got, "Auth")
	require.Contains(t, got, "Logs, metrics")
	require.NotContains(t, got, "Cache")
}

func TestRealQuestionDismissed(t *testing.T) {
	t.Parallel()
	e, api := real(t, apitest.Use(asks("toolu_1", question("Which?", "H", false, "a", "b"))), apitest.Say("second turn"))
	s := e.ready()
	turn := e.prompt(s, "hello")
	e.asked("Which?").cancels()
	turn.ends(acp.StopReasonCancelled)
	require.Equal(t, "failed", e.tool(s, "toolu_1")["status"])
	require.Len(t, api.Main(), 1, "the model is not asked to go on")
	e.prompt(s, "again").ends(acp.StopReasonEndTurn)
	require.Equal(t, "second turn", e.said(s))
}

func TestRealCancelWhileOpen(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]bool{"with a reply": true, "without a reply": false} {
		t.Run(name, func(t *testing.T) {
			e, _ := real(t, apitest.Use(asks("toolu_1", question("Which?", "H", false, "a", "b"))), apitest.Say("second turn"))
			s := e.ready()
			turn := e.prompt(s, "hello")
			r := e.asked("Which?")
			e.cancel(s)
			if reply {
				r.cancels()
			}
			turn.ends(acp.StopReasonCancelled)
			<-r.withdrawn
			require.Equal(t, "failed", e.tool(s, "toolu_1")["status"])
			e.prompt(s, "again").ends(acp.StopReasonEndTurn)
			require.Equal(t, "second turn", e.said(s))
		})
	}
}

func TestRealDisconnectWhileOpen(t *testing.T) {
	t.Parallel()
	e, api := real(t, apitest.Use(asks("toolu_1", question("Which?", "H", false, "a", "b"))), apitest.Say("never"))
	s := e.ready()
	e.prompt(s, "hello")
	e.asked("Which?")
	e.leave()
	require.Len(t, api.Main(), 1, "no turn runs on unattended")
}

func TestRealBash(t *testing.T) {
	t.Parallel()
	bash := func(id, command string) apitest.Reply {
		return apitest.Use(apitest.ToolUse(id, "Bash", object{"command": command, "description": "test"}))
	}
	e, api := real(t, bash("toolu_1", "mkdir one"), bash("toolu_2", "mkdir two"), bash("toolu_3", "mkdir two three"), bash("toolu_4", "touch x"), apitest.Say("done"))
	e.initialize(`{}`)
	dir := t.TempDir()
	s := e.open(dir)
	turn := e.prompt(s, "hello")

	r := e.asked("mkdir one")
	require.Contains(t, r.options(), "allow=Allow|allow_always=Always allow Bash(mkdir one")
	r.selects("allow")
	r = e.asked("mkdir two")
	require.Contains(t, r.options(), "allow_always=Always allow Bash(mkdir two *)")
	r.selects("allow_always")
	r = e.next() // what was allowed for good is not asked again
	require.Contains(t, r.Raw, "touch x")
	r.answer <- object{"outcome": object{"outcome": "selected", "optionId": "reject", "_meta": object{"customText": "not that file"}}}
	turn.ends(acp.StopReasonEndTurn)

	require.DirExists(t, filepath.Join(dir, "one"))
	require.DirExists(t, filepath.Join(dir, "three"))
	require.NoFileExists(t, filepath.Join(dir, "x"))
	require.Contains(t, told(t, api, "toolu_4").Text, "not that file")
	require.Equal(t, "completed", e.tool(s, "toolu_1")["status"])
	require.Equal(t, "failed", e.tool(s, "toolu_4")["status"])
	mode := e.call(acp.AgentMethodSessionSetMode, `{"sessionId":"`+s+`","modeId":"plan"}`)
	require.True(t, mode.IsObject())
}

func TestRealWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e, _ := real(t, apitest.Use(apitest.ToolUse("toolu_1", "Write", object{"file_path": filepath.Join(dir, "a.txt"), "content": "hello\n"})), apitest.Say("done"))
	e.initialize(`{}`)
	s := e.open(dir)
	turn := e.prompt(s, "hello")
	r := e.asked("a.txt")
	require.Equal(t, "diff", r.Get("toolCall.content.0.type").Str)
	require.Equal(t, "hello\n", r.Get("toolCall.content.0.newText").Str)
	require.Contains(t, r.options(), "accept_edits=Accept all edits")
	r.selects("accept_edits")
	turn.ends(acp.StopReasonEndTurn)
	require.FileExists(t, filepath.Join(dir, "a.txt"))
	require.Contains(t, e.tool(s, "toolu_1")["content"], `"newText":"hello\n"`)
	require.Equal(t, "Write a.txt", e.tool(s, "toolu_1")["title"])
	modes := 0
	for _, u := range e.updates(s) {
		if u.Get("sessionUpdate").Str == "current_mode_update" {
			require.Equal(t, "acceptEdits", u.Get("currentModeId").Str)
			modes++
		}
	}
	require.Equal(t, 1, modes, "the editor learns of the new mode, once")
}

func TestRealPlanExit(t *testing.T) {
	t.Parallel()
	e, api := real(t, apitest.Use(apitest.ToolUse("toolu_1", "ExitPlanMode", object{"plan": "1. do it"})), apitest.Say("done"))
	s := e.ready()
	e.call(acp.AgentMethodSessionSetMode, `{"sessionId":"`+s+`","modeId":"plan"}`)
	turn := e.prompt(s, "hello")
	r := e.asked("1. do it")
	require.Equal(t, "acceptEdits=Yes, and accept all edits|default=Yes, and ask before edits|plan=No, keep planning", r.options())
	r.selects("acceptEdits")
	turn.ends(acp.StopReasonEndTurn)
	require.Contains(t, told(t, api, "toolu_1").Text, "approved")
	require.Equal(t, "Exited plan mode", e.tool(s, "toolu_1")["title"])
}

func TestRealAPIError(t *testing.T) {
	t.Parallel()
	e, api := real(t, apitest.Fail(500, "api_error", "the model is on holiday"))
	api.Script(apitest.Fail(500, "api_error", "the model is on holiday"), apitest.Say("back"))
	s := e.ready()
	e.prompt(s, "hello").fails("the model is on holiday")
	require.Empty(t, e.said(s), "the error is shown once")
	e.prompt(s, "again").ends(acp.StopReasonEndTurn)
	require.Equal(t, "back", e.said(s))
}

func TestRealTwoSessionsTwoTurns(t *testing.T) {
	t.Parallel()
	e, api := real(t)
	api.When(func(r apitest.Request) bool { return strings.Contains(string(r.Body), "first session") },
		apitest.Use(asks("toolu_a", question("A?", "H", false, "a", "b"))), apitest.Say("one"), apitest.Say("one again"))
	api.When(func(r apitest.Request) bool { return strings.Contains(string(r.Body), "second session") },
		apitest.Use(asks("toolu_b", question("B?", "H", false, "a", "b"))), apitest.Say("two"), apitest.Say("two again"))
	e.initialize(`{}`)
	s1, s2 := e.open(t.TempDir()), e.open(t.TempDir())
	t1, t2 := e.prompt(s1, "first session"), e.prompt(s2, "second session")
	r1, r2 := e.next(), e.next()
	if r1.Get("sessionId").Str != s1 {
		r1, r2 = r2, r1
	}
	r2.selects("b")
	t2.ends(acp.StopReasonEndTurn)
	r1.selects("a")
	t1.ends(acp.StopReasonEndTurn)
	e.prompt(s1, "more of it").ends(acp.StopReasonEndTurn)
	e.prompt(s2, "more of it").ends(acp.StopReasonEndTurn)
	require.Equal(t, "oneone again", e.said(s1))
	require.Equal(t, "twotwo again", e.said(s2))
	require.Contains(t, told(t, api, "toolu_a").Text, `"A?"="a"`)
	require.Contains(t, told(t, api, "toolu_b").Text, `"B?"="b"`)
}

func TestRealAuthentication(t *testing.T) {
	t.Parallel()
	e, _ := real(t)
	e.initialize(`{}`)
	e.call(acp.AgentMethodAuthenticate, `{"methodId":"anthropic-api-key"}`)
	_, err := e.try(acp.AgentMethodLogout, `{}`)
	require.ErrorContains(t, err, "credentials in the environment")

	api := apitest.New(t)
	e = serve(t, backend.Options{Claude: os.Getenv("ACP_BRIDGE_REAL_CLAUDE"), Env: apitest.EnvNoKey(api, t.TempDir())})
	s := e.ready()
	_, err = e.try(acp.AgentMethodAuthenticate, `{"methodId":"claude-login"}`)
	require.ErrorContains(t, err, "claude /login")
	require.Equal(t, -32000, e.prompt(s, "hello").fails("claude /login").Code)
	e.call(acp.AgentMethodLogout, `{}`)
}

func TestRealKilledWhileAsking(t *testing.T) {
	t.Parallel()
	e, api := real(t, apitest.Say("first turn"), apitest.Use(asks("toolu_1", question("Which?", "H", false, "a", "b"))), apitest.Say("back"))
	s := e.ready()
	e.prompt(s, "one").ends(acp.StopReasonEndTurn)
	turn := e.prompt(s, "two")
	r := e.asked("Which?")
	killClaude(t, s)
	turn.fails("Claude Code was ended by a signal")
	<-r.withdrawn
	require.Equal(t, "failed", e.tool(s, "toolu_1")["status"])
	e.prompt(s, "three").ends(acp.StopReasonEndTurn)
	require.Equal(t, "first turnback", e.said(s))
	last := api.Main()[len(api.Main())-1]
	require.True(t, last.Contains("one"), "the conversation was resumed")
}

// killClaude kills the CLI of a session, found by its command line.
func killClaude(t *testing.T, session string) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, name := range dirs {
		line, err := os.ReadFile(name)
		if err != nil || !strings.Contains(string(line), session) || !strings.Contains(string(line), "stream-json") {
			continue
		}
		pid, err := strconv.Atoi(strings.Split(name, "/")[2])
		require.NoError(t, err)
		kill(t, pid)
		return
	}
	t.Fatal("no process of the session")
}

// What is typed and not saved reaches the model when the file is read.
func TestRealUnsavedBuffer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "a.txt")
	require.NoError(t, os.WriteFile(file, []byte("saved\n"), 0o600))
	read := func(id string) apitest.Reply {
		return apitest.Use(apitest.ToolUse(id, "Read", object{"file_path": file}))
	}
	e, api := real(t, read("toolu_1"), read("toolu_2"), apitest.Say("done"))
	e.initialize(`{"fs":{"readTextFile":true}}`)
	s := e.open(dir)
	turn := e.prompt(s, "read it")
	r := e.asked("a.txt")
	require.Equal(t, "fs/read_text_file", r.method)
	r.answer <- object{"content": "typed\n"}
	e.asked("a.txt").answer <- acp.NewInternalError(nil) // no buffer: the file counts
	turn.ends(acp.StopReasonEndTurn)
	main := api.Main()
	require.True(t, main[1].Contains("saved") && main[1].Contains("typed"), "%s", main[1].Body)
	require.Equal(t, 1, strings.Count(string(main[2].Body), "that are not saved"))
}

// Models and modes that the editor sets are those that the model is run with.
func TestRealModelAndMode(t *testing.T) {
	t.Parallel()
	e, api := real(t, apitest.Say("one"), apitest.Use(apitest.ToolUse("toolu_1", "Write", object{"file_path": "a.txt", "content": "x"})), apitest.Say("two"))
	dir := t.TempDir()
	e.initialize(`{}`)
	s := e.open(dir)
	e.call(acp.AgentMethodSessionSetConfigOption, `{"sessionId":"`+s+`","configId":"model","value":"haiku"}`)
	e.prompt(s, "hello").ends(acp.StopReasonEndTurn)
	require.Contains(t, api.Main()[0].Get("model").Str, "haiku")
	e.call(acp.AgentMethodSessionSetConfigOption, `{"sessionId":"`+s+`","configId":"mode","value":"acceptEdits"}`)
	e.prompt(s, "write").ends(acp.StopReasonEndTurn)
	require.FileExists(t, filepath.Join(dir, "a.txt"), "nobody was asked")
}

func TestRealSlashCommand(t *testing.T) {
	t.Parallel()
	e, api := real(t, apitest.Say("greeted"))
	dir := t.TempDir()
	commands := filepath.Join(dir, ".claude", "commands")
	require.NoError(t, os.MkdirAll(commands, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(commands, "greet.md"), []byte("---\nargument-hint: <name>\n---\nSay hello to $ARGUMENTS in French."), 0o600))
	e.initialize(`{}`)
	s := e.open(dir)
	e.await(s, "the command", func(u gjson.Result) bool {
		return u.Get(`availableCommands.#(name=="greet").input.hint`).Str == "<name>"
	})
	e.prompt(s, "/greet Bob").ends(acp.StopReasonEndTurn)
	require.True(t, api.Main()[0].Contains("Say hello to Bob in French."))
	e.prompt(s, "/context").ends(acp.StopReasonEndTurn)
	require.Contains(t, e.said(s), "greeted")
	require.Greater(t, len(e.said(s)), len("greeted"), "a command of the CLI itself shows its output")
}

func TestRealImages(t *testing.T) {
	t.Parallel()
	const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	e, api := real(t, apitest.Say("a pixel"))
	s := e.ready()
	e.promptBlocks(s, `[{"type":"text","text":"what is it?"},{"type":"image","mimeType":"image/png","data":"`+pixel+`"}]`).ends(acp.StopReasonEndTurn)
	require.True(t, api.Main()[0].Contains(`"type":"image"`))
}

// A prompt that arrives as the CLI begins a turn of its own, and is taken into
// it, ends with that turn.
func TestRealPromptFoldedIntoATurnOfTheCLI(t *testing.T) {
	t.Parallel()
	e, api := real(t)
	s := e.ready()
	api.When(func(r apitest.Request) bool {
		return strings.Contains(r.Get("messages.0.content").Raw, "work of the sub-agent")
	}, apitest.Use(apitest.ToolUse("toolu_s2", "Bash", object{"command": "echo sub", "description": "test"})), apitest.Say("the sub-agent is done"))
	bash := apitest.Use(apitest.ToolUse("toolu_2", "Bash", object{"command": "echo hi", "description": "test"}))
	api.Script(apitest.Use(apitest.ToolUse("toolu_s1", "Agent", object{"description": "delegate", "prompt": "work of the sub-agent", "subagent_type": "general-purpose"})),
		apitest.Say("done"), apitest.Use(asks("toolu_1", question("Which database?", "Database", false, "PostgreSQL", "SQLite"))),
		bash, apitest.Say("never mind"), apitest.Say("more"), apitest.Say("more"))
	e.prompt(s, "first").ends(acp.StopReasonEndTurn)
	second := e.prompt(s, "second")
	asked := e.asked("Which database?")
	time.Sleep(500 * time.Millisecond) // the sub-agent ends meanwhile, and its end is queued
	asked.cancels()
	second.ends(acp.StopReasonCancelled)
	e.prompt(s, "third").ends(acp.StopReasonEndTurn)
	last := api.Main()[len(api.Main())-1]
	require.True(t, last.Contains("third"))
}
