//go:build unix

package claude_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/internal/claude"
)

// realVariable names the real CLI's binary. Without it the tests of this file
// are skipped.
const realVariable = "ACP_BRIDGE_REAL_CLAUDE"

// real is the real CLI against the stand-in for the API.
type real struct {
	*session
	api             *apitest.Server
	path, dir, home string
}

func startReal(t *testing.T, change ...func(*claude.Options)) *real {
	t.Helper()
	path := os.Getenv(realVariable)
	if path == "" {
		t.Skipf("SKIPPED: NOT RUN AGAINST THE REAL CLAUDE CODE: set %s to its binary", realVariable)
	}
	// The CLI may still write to its home when it is told to end.
	home, err := os.MkdirTemp("", "claude-home")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(home) })
	r := &real{session: &session{t: t, ctx: testContext(t)}, api: apitest.New(t), path: path, dir: t.TempDir(), home: home}
	r.restart(path, change...)
	return r
}

// restart starts a process with the same home and directory and waits for its
// initialize reply.
func (r *real) restart(path string, change ...func(*claude.Options)) *claude.InitInfo {
	r.t.Helper()
	r.open(path, change...)
	info, err := r.Initialize(r.ctx)
	require.NoError(r.t, err)
	return info
}

func (r *real) open(path string, change ...func(*claude.Options)) {
	r.t.Helper()
	opts := claude.Options{Path: path, Dir: r.dir, SessionID: claude.NewSessionID(), Env: apitest.Env(r.api, r.home)}
	for _, c := range change {
		c(&opts)
	}
	r.launch(opts)
}

func question(text string) object {
	return object{"questions": []object{{
		"question": text, "header": "Pick", "multiSelect": false,
		"options": []object{{"label": "A", "description": "a"}, {"label": "B", "description": "b"}},
	}}}
}

func ask(id, text string) apitest.Block {
	return apitest.ToolUse(id, "AskUserQuestion", question(text))
}

func TestRealInitialize(t *testing.T) {
	r := startReal(t)
	info := r.restart(r.path, func(o *claude.Options) { o.Mode = "plan" })
	require.Equal(t, "plan", info.Mode)
	require.NotEmpty(t, info.Commands)
	require.NotEmpty(t, info.Models)
}

func TestRealText(t *testing.T) {
	r := startReal(t)
	r.api.Script(apitest.Use(apitest.Thinking("hm ", "well"), apitest.Text("Hello ", "world")))
	require.NoError(t, r.Prompt([]object{{"type": "text", "text": "a\u2028b <&> \x00"}}))
	all := r.until(claude.TypeResult)
	require.Equal(t, "Hello world", deltas(all))
	require.Equal(t, "Hello world", field(all[len(all)-1], "result").String())
	require.Contains(t, strings.Join(r.api.Main()[0].Texts(), "|"), "a\u2028b <&> \x00")
}

func TestRealQuestion(t *testing.T) {
	cases := map[string]struct {
		reply   func(claude.ToolRequest) claude.Permission
		model   string
		isError bool
		ends    string // terminal_reason
	}{
		"allow": {func(q claude.ToolRequest) claude.Permission {
			var in object
			_ = json.Unmarshal(q.Input, &in)
			in["answers"] = object{"Which?": "B"}
			out, _ := json.Marshal(in)
			return claude.Allow(out)
		}, `"Which?"="B"`, false, "completed"},
		"deny":               {func(claude.ToolRequest) claude.Permission { return claude.Deny("not now", false) }, "not now", true, "completed"},
		"deny and interrupt": {func(claude.ToolRequest) claude.Permission { return claude.Deny("stop", true) }, "doesn't want to proceed", true, "aborted_tools"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := startReal(t)
			r.api.Script(apitest.Use(ask("toolu_1", "Which?")), apitest.Say("then"), apitest.Say("next"))
			require.NoError(t, r.Prompt("hi"))
			req := r.last(claude.TypeControlRequest).ToolRequest()
			require.Equal(t, "AskUserQuestion", req.ToolName)
			require.NoError(t, r.Reply(req.RequestID, c.reply(req)))
			require.Equal(t, c.ends, field(r.last(claude.TypeResult), "terminal_reason").String())
			require.NoError(t, r.Prompt("and on"))
			require.Equal(t, "success", r.last(claude.TypeResult).Subtype, "the session stays usable")
			main := r.api.Main()
			result, ok := main[len(main)-1].ToolResult("toolu_1")
			require.True(t, ok)
			require.Contains(t, result.Text, c.model)
			require.Equal(t, c.isError, result.IsError)
		})
	}
}

// What the stand-in claims about two open questions.
func TestRealTwoQuestions(t *testing.T) {
	start := func(t *testing.T) (r *real, first, second claude.ToolRequest) {
		r = startReal(t)
		r.api.Script(apitest.Use(ask("toolu_1", "One?"), ask("toolu_2", "Two?")), apitest.Say("then"))
		require.NoError(t, r.Prompt("hi"))
		return r, r.last(claude.TypeControlRequest).ToolRequest(), r.last(claude.TypeControlRequest).ToolRequest()
	}
	t.Run("answered in the other order", func(t *testing.T) {
		r, first, second := start(t)
		require.NoError(t, r.Reply(second.RequestID, claude.Deny("two", false)))
		require.Equal(t, []string{"toolu_2"}, toolResults(r.until(claude.TypeUser)))
		require.NoError(t, r.Reply(first.RequestID, claude.Deny("one", false)))
		require.Equal(t, []string{"toolu_1"}, toolResults(r.until(claude.TypeResult)))
	})
	t.Run("one dismissed with interrupt", func(t *testing.T) {
		r, first, second := start(t)
		require.NoError(t, r.Reply(second.RequestID, claude.Deny("stop", true)))
		all := r.until(claude.TypeResult)
		var cancelled []string
		for _, m := range all {
			if m.Type == claude.TypeControlCancel {
				cancelled = append(cancelled, m.RequestID())
			}
		}
		require.Equal(t, []string{first.RequestID}, cancelled, "the sibling is withdrawn")
		require.Equal(t, []string{"toolu_2", "toolu_1"}, toolResults(all))
	})
}

func TestRealInterrupt(t *testing.T) {
	t.Run("while a question is open", func(t *testing.T) {
		r := startReal(t)
		r.api.Script(apitest.Use(ask("toolu_1", "Which?")), apitest.Say("next"))
		require.NoError(t, r.Prompt("hi"))
		req := r.last(claude.TypeControlRequest)
		require.NoError(t, r.Interrupt(r.ctx))
		require.Equal(t, req.RequestID(), r.last(claude.TypeControlCancel).RequestID())
		require.Equal(t, "aborted_tools", field(r.last(claude.TypeResult), "terminal_reason").String())
		require.NoError(t, r.Reply(req.RequestID(), claude.Deny("late", false)))
		require.NoError(t, r.Prompt("more"))
		require.Equal(t, "success", r.last(claude.TypeResult).Subtype)
	})
	t.Run("while text streams", func(t *testing.T) {
		r := startReal(t)
		r.api.Script(apitest.Reply{Blocks: []apitest.Block{apitest.Text("one ", "two")}, Hold: make(chan struct{})})
		require.NoError(t, r.Prompt("hi"))
		r.until(claude.TypeAssistant)
		require.NoError(t, r.Interrupt(r.ctx))
		require.Equal(t, "aborted_streaming", field(r.last(claude.TypeResult), "terminal_reason").String())
	})
	t.Run("while nothing runs", func(t *testing.T) {
		r := startReal(t)
		require.NoError(t, r.Interrupt(r.ctx))
		require.NoError(t, r.Prompt("hi"))
		require.Equal(t, "success", r.last(claude.TypeResult).Subtype)
	})
}

func TestRealModeAndModel(t *testing.T) {
	r := startReal(t)
	require.NoError(t, r.SetMode(r.ctx, "acceptEdits"))
	require.NoError(t, r.SetModel(r.ctx, "haiku"))
	require.Error(t, r.SetMode(r.ctx, "bypassPermissions"))
	r.api.Script(apitest.Use(apitest.ToolUse("toolu_1", "Write", object{"file_path": filepath.Join(r.dir, "f"), "content": "x"})), apitest.Say("done"))
	require.NoError(t, r.Prompt("hi"))
	for _, m := range r.until(claude.TypeResult) {
		require.NotEqual(t, claude.TypeControlRequest, m.Type, "acceptEdits asks nothing")
	}
	require.FileExists(t, filepath.Join(r.dir, "f"))
	require.Contains(t, r.api.Main()[0].Get("model").String(), "haiku")
}

func TestRealResume(t *testing.T) {
	id := claude.NewSessionID()
	r := startReal(t, func(o *claude.Options) { o.SessionID = id })
	require.NoError(t, r.Prompt("remember me"))
	r.until(claude.TypeResult)
	require.NoError(t, r.Close(r.ctx))

	r.restart(r.path, func(o *claude.Options) { o.Resume = id })
	require.NoError(t, r.Prompt("again"))
	require.Equal(t, id, r.last(claude.TypeResult).SessionID())
	require.True(t, r.api.Main()[1].Contains("remember me"))

	r.open(r.path, func(o *claude.Options) { o.Resume = claude.NewSessionID() })
	_, err := r.Initialize(r.ctx)
	require.ErrorIs(t, err, claude.ErrExited)
	require.ErrorContains(t, err, "No conversation found")

	r.open(r.path, func(o *claude.Options) { o.SessionID = id })
	_, err = r.Initialize(r.ctx)
	require.ErrorContains(t, err, "already in use")
}

func TestRealErrors(t *testing.T) {
	t.Run("API", func(t *testing.T) {
		r := startReal(t)
		r.api.Script(apitest.Reply{Status: 529, ErrorType: "overloaded_error", ErrorMessage: "Overloaded", Times: 9})
		require.NoError(t, r.Prompt("hi"))
		m := r.last(claude.TypeResult)
		require.Equal(t, "success", m.Subtype)
		require.True(t, field(m, "is_error").Bool())
		require.EqualValues(t, 529, field(m, "api_error_status").Int())
	})
	t.Run("no key", func(t *testing.T) {
		r := startReal(t)
		r.restart(r.path, func(o *claude.Options) { o.Env = apitest.EnvNoKey(r.api, r.home) })
		require.NoError(t, r.Prompt("hi"))
		require.Equal(t, "authentication_failed", field(r.last(claude.TypeAssistant), "error").String())
		require.Empty(t, r.api.Requests())
	})
}

// A command of the CLI runs in a session of its own: the group's end is not
// its end.
func TestRealCommandsEndToo(t *testing.T) {
	for name, end := range map[string]func(*real){
		"close": func(r *real) { require.NoError(r.t, r.Close(r.ctx)) },
		"kill":  func(r *real) { r.Kill(); <-r.Done() },
	} {
		t.Run(name, func(t *testing.T) {
			r := startReal(t)
			require.NoError(t, os.WriteFile(filepath.Join(r.dir, "wait.sh"), []byte("echo $$ > pid.tmp; mv pid.tmp pid; sleep 60\n"), 0o755))
			r.api.Script(apitest.Use(apitest.ToolUse("toolu_1", "Bash", object{"command": "sh ./wait.sh", "description": "wait"})))
			require.NoError(t, r.Prompt("hi"))
			req := r.last(claude.TypeControlRequest).ToolRequest()
			require.NoError(t, r.Reply(req.RequestID, claude.Allow(req.Input)))
			pid := 0
			require.Eventually(t, func() bool {
				data, _ := os.ReadFile(filepath.Join(r.dir, "pid"))
				pid, _ = strconv.Atoi(strings.TrimSpace(string(data)))
				return pid > 1
			}, patience, 5*time.Millisecond)
			start := time.Now()
			end(r)
			t.Log("took", time.Since(start).Round(time.Millisecond))
			gone(t, pid)
		})
	}
}

func TestRealKilledWhileAQuestionIsOpen(t *testing.T) {
	id := claude.NewSessionID()
	r := startReal(t, func(o *claude.Options) { o.SessionID = id })
	r.api.Script(apitest.Say("first"), apitest.Use(ask("toolu_1", "Which?")), apitest.Say("back"))
	require.NoError(t, r.Prompt("remember me"))
	r.until(claude.TypeResult)
	require.NoError(t, r.Prompt("hi"))
	r.until(claude.TypeControlRequest)
	r.Kill()
	require.ErrorIs(t, r.end(), claude.ErrExited)
	r.restart(r.path, func(o *claude.Options) { o.Resume = id })
	require.NoError(t, r.Prompt("again"))
	require.Equal(t, "back", field(r.last(claude.TypeResult), "result").String())
	require.True(t, r.api.Main()[2].Contains("remember me"))
}

// In its first turn the transcript may not be on disk yet: there is then
// nothing to resume, and the id is free to start anew with.
func TestRealKilledInTheFirstTurn(t *testing.T) {
	id := claude.NewSessionID()
	r := startReal(t, func(o *claude.Options) { o.SessionID = id })
	r.api.Script(apitest.Use(ask("toolu_1", "Which?")), apitest.Say("back"))
	require.NoError(t, r.Prompt("hi"))
	r.until(claude.TypeControlRequest)
	r.Kill()
	require.ErrorIs(t, r.end(), claude.ErrExited)
	r.open(r.path, func(o *claude.Options) { o.Resume = id })
	if _, err := r.Initialize(r.ctx); err != nil {
		require.ErrorIs(t, err, claude.ErrExited)
		r.restart(r.path, func(o *claude.Options) { o.SessionID = id })
	}
	require.NoError(t, r.Prompt("again"))
	require.Equal(t, "back", field(r.last(claude.TypeResult), "result").String())
}
