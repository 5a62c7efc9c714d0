//go:build unix

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

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
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
	s := e.Ready()
	turn := e.Prompt(s, "hello")
	r := e.Asked("Which database?")
	require.Equal(t, "PostgreSQL=PostgreSQL - about PostgreSQL|SQLite=SQLite - about SQLite|__other__=Other (type custom answer)", r.Options())
	r.Selects("SQLite")
	turn.Ends(acp.StopReasonEndTurn)
	require.Contains(t, told(t, api, "toolu_1").Text, `"Which database?"="SQLite"`)
	require.Equal(t, "Let me ask.Noted.", e.Said(s))
	tool := e.Tool(s, "toolu_1")
	require.Equal(t, "x", tool["drawn"])
	require.Equal(t, "completed", tool["status"])
	require.Contains(t, tool["content"], "Which database? → SQLite")
	e.Await(s, "usage", func(u gjson.Result) bool { return u.Get("used").Int() > 0 && u.Get("size").Int() > u.Get("used").Int() })
}

func TestRealQuestionKinds(t *testing.T) {
	t.Parallel()
	e, api := real(t, apitest.Use(asks("toolu_1",
		question("Which database?", "Database", false, "PostgreSQL", "SQLite"),
		question("Which features?", "Features", true, "Auth", "Logs, metrics", "Cache"),
		question("Which licence?", "Licence", false, "MIT", "Apache"),
		question("Which port?", "Port", false, "80", "8080"),
	)), apitest.Say("Noted."))
	s := e.Ready()
	turn := e.Prompt(s, "hello")
	e.Asked("Which database?").Selects("PostgreSQL")
	e.Asked("Which features?").Selects("Logs, metrics")
	e.Asked(`Done: \"Logs, metrics\"`).Selects("Auth")
	e.Asked(`Done: Auth, \"Logs, metrics\"`).Selects("__done__")
	e.Asked("Which licence?").Types("BSD, please")
	e.Asked("Which port?").Selects("8080")
	turn.Ends(acp.StopReasonEndTurn)
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
	s := e.Ready()
	turn := e.Prompt(s, "hello")
	e.Asked("Which?").Cancels()
	turn.Ends(acp.StopReasonCancelled)
	require.Equal(t, "failed", e.Tool(s, "toolu_1")["status"])
	require.Len(t, api.Main(), 1, "the model is not asked to go on")
	e.Prompt(s, "again").Ends(acp.StopReasonEndTurn)
	require.Equal(t, "second turn", e.Said(s))
}

func TestRealCancelWhileOpen(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]bool{"with a reply": true, "without a reply": false} {
		t.Run(name, func(t *testing.T) {
			e, _ := real(t, apitest.Use(asks("toolu_1", question("Which?", "H", false, "a", "b"))), apitest.Say("second turn"))
			s := e.Ready()
			turn := e.Prompt(s, "hello")
			r := e.Asked("Which?")
			e.Cancel(s)
			if reply {
				r.Cancels()
			}
			turn.Ends(acp.StopReasonCancelled)
			<-r.Withdrawn
			require.Equal(t, "failed", e.Tool(s, "toolu_1")["status"])
			e.Prompt(s, "again").Ends(acp.StopReasonEndTurn)
			require.Equal(t, "second turn", e.Said(s))
		})
	}
}

func TestRealDisconnectWhileOpen(t *testing.T) {
	t.Parallel()
	e, api := real(t, apitest.Use(asks("toolu_1", question("Which?", "H", false, "a", "b"))), apitest.Say("never"))
	s := e.Ready()
	e.Prompt(s, "hello")
	e.Asked("Which?")
	e.Leave()
	require.Len(t, api.Main(), 1, "no turn runs on unattended")
}

func TestRealBash(t *testing.T) {
	t.Parallel()
	bash := func(id, command string) apitest.Reply {
		return apitest.Use(apitest.ToolUse(id, "Bash", object{"command": command, "description": "test"}))
	}
	e, api := real(t, bash("toolu_1", "mkdir one"), bash("toolu_2", "mkdir two"), bash("toolu_3", "mkdir two three"), bash("toolu_4", "touch x"), apitest.Say("done"))
	e.Initialize(`{}`)
	dir := t.TempDir()
	s := e.Open(dir)
	turn := e.Prompt(s, "hello")

	r := e.Asked("mkdir one")
	require.Contains(t, r.Options(), "allow=Allow|allow_always=Always allow Bash(mkdir one")
	r.Selects("allow")
	r = e.Asked("mkdir two")
	require.Contains(t, r.Options(), "allow_always=Always allow Bash(mkdir two *)")
	r.Selects("allow_always")
	r = e.Next() // what was allowed for good is not asked again
	require.Contains(t, r.Raw, "touch x")
	r.Answer <- object{"outcome": object{"outcome": "selected", "optionId": "reject", "_meta": object{"customText": "not that file"}}}
	turn.Ends(acp.StopReasonEndTurn)

	require.DirExists(t, filepath.Join(dir, "one"))
	require.DirExists(t, filepath.Join(dir, "three"))
	require.NoFileExists(t, filepath.Join(dir, "x"))
	require.Contains(t, told(t, api, "toolu_4").Text, "not that file")
	require.Equal(t, "completed", e.Tool(s, "toolu_1")["status"])
	require.Equal(t, "failed", e.Tool(s, "toolu_4")["status"])
	mode := e.Call(acp.AgentMethodSessionSetMode, `{"sessionId":"`+s+`","modeId":"plan"}`)
	require.True(t, mode.IsObject())
}

func TestRealWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e, _ := real(t, apitest.Use(apitest.ToolUse("toolu_1", "Write", object{"file_path": filepath.Join(dir, "a.txt"), "content": "hello\n"})), apitest.Say("done"))
	e.Initialize(`{}`)
	s := e.Open(dir)
	turn := e.Prompt(s, "hello")
	r := e.Asked("a.txt")
	require.Equal(t, "diff", r.Get("toolCall.content.0.type").Str)
	require.Equal(t, "hello\n", r.Get("toolCall.content.0.newText").Str)
	require.Contains(t, r.Options(), "accept_edits=Accept all edits")
	r.Selects("accept_edits")
	turn.Ends(acp.StopReasonEndTurn)
	require.FileExists(t, filepath.Join(dir, "a.txt"))
	require.Contains(t, e.Tool(s, "toolu_1")["content"], `"newText":"hello\n"`)
	require.Equal(t, "Write a.txt", e.Tool(s, "toolu_1")["title"])
	modes := 0
	for _, u := range e.Updates(s) {
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
	s := e.Ready()
	e.Call(acp.AgentMethodSessionSetMode, `{"sessionId":"`+s+`","modeId":"plan"}`)
	turn := e.Prompt(s, "hello")
	r := e.Asked("1. do it")
	require.Regexp(t, `^\d+% of the context used( · \$\d+\.\d\d)? · .+ · Plan mode$`, r.Get("toolCall.content.@reverse.0.content.text").Str)
	require.Regexp(t, `^default=Yes, and ask before edits\|clear_auto=.+\|auto=Yes, and use auto mode\|acceptEdits=Yes, and accept all edits\|plan=No, keep planning$`, r.Options())
	r.Selects("acceptEdits")
	turn.Ends(acp.StopReasonEndTurn)
	require.Contains(t, told(t, api, "toolu_1").Text, "approved")
	require.Equal(t, "Exited plan mode", e.Tool(s, "toolu_1")["title"])
}

func TestRealAPIError(t *testing.T) {
	t.Parallel()
	e, api := real(t, apitest.Fail(500, "api_error", "the model is on holiday"))
	api.Script(apitest.Fail(500, "api_error", "the model is on holiday"), apitest.Say("back"))
	s := e.Ready()
	e.Prompt(s, "hello").Fails("the model is on holiday")
	require.Empty(t, e.Said(s), "the error is shown once")
	e.Prompt(s, "again").Ends(acp.StopReasonEndTurn)
	require.Equal(t, "back", e.Said(s))
}

func TestRealTwoSessionsTwoTurns(t *testing.T) {
	t.Parallel()
	e, api := real(t)
	api.When(func(r apitest.Request) bool { return strings.Contains(string(r.Body), "first session") },
		apitest.Use(asks("toolu_a", question("A?", "H", false, "a", "b"))), apitest.Say("one"), apitest.Say("one again"))
	api.When(func(r apitest.Request) bool { return strings.Contains(string(r.Body), "second session") },
		apitest.Use(asks("toolu_b", question("B?", "H", false, "a", "b"))), apitest.Say("two"), apitest.Say("two again"))
	e.Initialize(`{}`)
	s1, s2 := e.Open(t.TempDir()), e.Open(t.TempDir())
	t1, t2 := e.Prompt(s1, "first session"), e.Prompt(s2, "second session")
	r1, r2 := e.Next(), e.Next()
	if r1.Get("sessionId").Str != s1 {
		r1, r2 = r2, r1
	}
	r2.Selects("b")
	t2.Ends(acp.StopReasonEndTurn)
	r1.Selects("a")
	t1.Ends(acp.StopReasonEndTurn)
	e.Prompt(s1, "more of it").Ends(acp.StopReasonEndTurn)
	e.Prompt(s2, "more of it").Ends(acp.StopReasonEndTurn)
	require.Equal(t, "oneone again", e.Said(s1))
	require.Equal(t, "twotwo again", e.Said(s2))
	require.Contains(t, told(t, api, "toolu_a").Text, `"A?"="a"`)
	require.Contains(t, told(t, api, "toolu_b").Text, `"B?"="b"`)
}

func TestRealAuthentication(t *testing.T) {
	t.Parallel()
	e, _ := real(t)
	e.Initialize(`{}`)
	e.Call(acp.AgentMethodAuthenticate, `{"methodId":"anthropic-api-key"}`)
	_, err := e.Try(acp.AgentMethodLogout, `{}`)
	require.ErrorContains(t, err, "credentials in the environment")

	api := apitest.New(t)
	e = serve(t, backend.Options{Claude: os.Getenv("ACP_BRIDGE_REAL_CLAUDE"), Env: apitest.EnvNoKey(api, t.TempDir())})
	s := e.Ready()
	_, err = e.Try(acp.AgentMethodAuthenticate, `{"methodId":"claude-login"}`)
	require.ErrorContains(t, err, "claude /login")
	require.Equal(t, -32000, e.Prompt(s, "hello").Fails("claude /login").Code)
	e.Call(acp.AgentMethodLogout, `{}`)
}

func TestRealKilledWhileAsking(t *testing.T) {
	t.Parallel()
	e, api := real(t, apitest.Say("first turn"), apitest.Use(asks("toolu_1", question("Which?", "H", false, "a", "b"))), apitest.Say("back"))
	s := e.Ready()
	e.Prompt(s, "one").Ends(acp.StopReasonEndTurn)
	turn := e.Prompt(s, "two")
	r := e.Asked("Which?")
	killClaude(t, s)
	turn.Fails("Claude Code was ended by a signal")
	<-r.Withdrawn
	require.Equal(t, "failed", e.Tool(s, "toolu_1")["status"])
	e.Prompt(s, "three").Ends(acp.StopReasonEndTurn)
	require.Equal(t, "first turnback", e.Said(s))
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
	e.Initialize(`{"fs":{"readTextFile":true}}`)
	s := e.Open(dir)
	turn := e.Prompt(s, "read it")
	r := e.Asked("a.txt")
	require.Equal(t, "fs/read_text_file", r.Method)
	r.Answer <- object{"content": "typed\n"}
	e.Asked("a.txt").Answer <- acp.NewInternalError(nil) // no buffer: the file counts
	turn.Ends(acp.StopReasonEndTurn)
	main := api.Main()
	require.True(t, main[1].Contains("saved") && main[1].Contains("typed"), "%s", main[1].Body)
	require.Equal(t, 1, strings.Count(string(main[2].Body), "that are not saved"))
}

// Models and modes that the editor sets are those that the model is run with.
func TestRealModelAndMode(t *testing.T) {
	t.Parallel()
	e, api := real(t, apitest.Say("one"), apitest.Use(apitest.ToolUse("toolu_1", "Write", object{"file_path": "a.txt", "content": "x"})), apitest.Say("two"))
	dir := t.TempDir()
	e.Initialize(`{}`)
	s := e.Open(dir)
	e.Call(acp.AgentMethodSessionSetConfigOption, `{"sessionId":"`+s+`","configId":"model","value":"haiku"}`)
	e.Prompt(s, "hello").Ends(acp.StopReasonEndTurn)
	require.Contains(t, api.Main()[0].Get("model").Str, "haiku")
	e.Call(acp.AgentMethodSessionSetConfigOption, `{"sessionId":"`+s+`","configId":"mode","value":"acceptEdits"}`)
	e.Prompt(s, "write").Ends(acp.StopReasonEndTurn)
	require.FileExists(t, filepath.Join(dir, "a.txt"), "nobody was asked")
}

func TestRealSlashCommand(t *testing.T) {
	t.Parallel()
	e, api := real(t, apitest.Say("greeted"))
	dir := t.TempDir()
	commands := filepath.Join(dir, ".claude", "commands")
	require.NoError(t, os.MkdirAll(commands, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(commands, "greet.md"), []byte("---\nargument-hint: <name>\n---\nSay hello to $ARGUMENTS in French."), 0o600))
	e.Initialize(`{}`)
	s := e.Open(dir)
	e.Await(s, "the command", func(u gjson.Result) bool {
		return u.Get(`availableCommands.#(name=="greet").input.hint`).Str == "<name>"
	})
	e.Prompt(s, "/greet Bob").Ends(acp.StopReasonEndTurn)
	require.True(t, api.Main()[0].Contains("Say hello to Bob in French."))
	e.Prompt(s, "/context").Ends(acp.StopReasonEndTurn)
	require.Contains(t, e.Said(s), "greeted")
	require.Greater(t, len(e.Said(s)), len("greeted"), "a command of the CLI itself shows its output")
}

func TestRealImages(t *testing.T) {
	t.Parallel()
	const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	e, api := real(t, apitest.Say("a pixel"))
	s := e.Ready()
	e.PromptBlocks(s, `[{"type":"text","text":"what is it?"},{"type":"image","mimeType":"image/png","data":"`+pixel+`"}]`).Ends(acp.StopReasonEndTurn)
	require.True(t, api.Main()[0].Contains(`"type":"image"`))
}

// A prompt that arrives as the CLI begins a turn of its own, and is taken into
// it, ends with that turn.
func TestRealPromptFoldedIntoATurnOfTheCLI(t *testing.T) {
	t.Parallel()
	e, api := real(t)
	s := e.Ready()
	api.When(func(r apitest.Request) bool {
		return strings.Contains(r.Get("messages.0.content").Raw, "work of the sub-agent")
	}, apitest.Use(apitest.ToolUse("toolu_s2", "Bash", object{"command": "echo sub", "description": "test"})), apitest.Say("the sub-agent is done"))
	bash := apitest.Use(apitest.ToolUse("toolu_2", "Bash", object{"command": "echo hi", "description": "test"}))
	api.Script(apitest.Use(apitest.ToolUse("toolu_s1", "Agent", object{"description": "delegate", "prompt": "work of the sub-agent", "subagent_type": "general-purpose"})),
		apitest.Say("done"), apitest.Use(asks("toolu_1", question("Which database?", "Database", false, "PostgreSQL", "SQLite"))),
		bash, apitest.Say("never mind"), apitest.Say("more"), apitest.Say("more"))
	e.Prompt(s, "first").Ends(acp.StopReasonEndTurn)
	second := e.Prompt(s, "second")
	asked := e.Asked("Which database?")
	time.Sleep(500 * time.Millisecond) // the sub-agent ends meanwhile, and its end is queued
	asked.Cancels()
	second.Ends(acp.StopReasonCancelled)
	e.Prompt(s, "third").Ends(acp.StopReasonEndTurn)
	last := api.Main()[len(api.Main())-1]
	require.True(t, last.Contains("third"))
}
