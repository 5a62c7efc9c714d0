//go:build linux

package proxy_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/modeltest"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/realtest"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// The real agents, each with a stand-in for its model, behind the proxy. They are
// run where they are installed: ACP_BRIDGE_REAL_AGENTS names the folder, see
// package realtest. ACP_BRIDGE_REAL_AGENTS_LONGER=1 runs all of them.

type object = map[string]any

// realAgent is what differs between agents in the suite.
type realAgent struct {
	name string
	// tool and one, two are the model's calls: one question, or two with several
	// picks.
	tool     string
	one, two object
	// words is set for an agent that takes own words, several for one that takes
	// several picks.
	words, several bool
	// dismissed is what the model gets when the user dismisses the question;
	// empty if the turn ends instead.
	dismissed string
	// declined is the same for a form that is declined, if it differs.
	declined string
}

func question(keys ...string) (one, two object) {
	multi := "multiSelect"
	if len(keys) > 0 {
		multi = keys[0]
	}
	database := object{"header": "Database", "question": "Which database?", multi: false, "options": []any{
		object{"label": "PostgreSQL", "description": "Relational"}, object{"label": "SQLite", "description": "A file"}}}
	features := object{"header": "Features", "question": "Which features?", multi: true, "options": []any{
		object{"label": "Auth", "description": "Login"}, object{"label": "Logs", "description": "To a file"}, object{"label": "Cache", "description": "In memory"}}}
	return object{"questions": []any{database}}, object{"questions": []any{database, features}}
}

// realAgents are those of the suite.
func realAgents() []realAgent {
	claude1, claude2 := question()
	snake1, snake2 := question("multi_select")
	open1, open2 := question("multiple")
	codex := func(n int) object {
		list := []any{
			object{"id": "db", "header": "Database", "question": "Which database?", "options": []any{object{"label": "PostgreSQL", "description": "a"}, object{"label": "SQLite", "description": "b"}}},
			object{"id": "feat", "header": "Features", "question": "Which features?", "options": []any{object{"label": "Auth", "description": "a"}, object{"label": "Cache", "description": "b"}}},
		}
		return object{"questions": list[:n]}
	}
	return []realAgent{
		{name: "grok", tool: "ask_user_question", one: snake1, two: snake2, words: true, several: true, dismissed: "declined"},
		{name: "kimi", tool: "AskUserQuestion", one: snake1, two: snake2, several: true, dismissed: "dismissed"},
		{name: "qwen", tool: "ask_user_question", one: claude1, two: claude2, words: true, several: true},
		{name: "codex", tool: "request_user_input", one: codex(1), two: codex(2), words: true, dismissed: `{"answers":{}}`},
		{name: "goose", tool: "ask_the_user", one: claude1, two: claude2, words: true, several: true, dismissed: "dismissed the question", declined: "declined to answer"},
		{name: "opencode", tool: "question", one: open1, two: open2, words: true, several: true},
		{name: "gemini", tool: "ask_the_user", one: claude1, two: claude2, words: true, several: true, dismissed: "dismissed the question", declined: "declined to answer"},
		{name: "copilot", tool: "ask_the_user", one: claude1, two: claude2, words: true, several: true, dismissed: "dismissed the question", declined: "declined to answer"},
		{name: "kilo", tool: "question", one: open1, two: open2, words: true, several: true},
		{name: "droid", tool: "acp-bridge___ask_the_user", one: claude1, two: claude2, words: true, several: true, dismissed: "dismissed the question", declined: "declined to answer"},
		{name: "nanocoder", tool: "ask_user", one: object{"question": "Which database?", "options": []any{"PostgreSQL", "SQLite"}}, dismissed: "dismissed"},
		{name: "claude", tool: "AskUserQuestion", one: claude1, two: claude2, words: true, several: true, dismissed: "aborted", declined: "did not answer"},
	}
}

func TestReal(t *testing.T) {
	for _, a := range realAgents() {
		t.Run(a.name, func(t *testing.T) {
			agent := findReal(t, a.name)
			t.Parallel()
			a.withoutForms(t, agent)
			a.withForms(t, agent)
		})
	}
}

// withoutForms is one process with a session for each case. The last one kills
// it.
func (a realAgent) withoutForms(t *testing.T, agent realtest.Agent) {
	r := a.start(t, agent, noForms)
	t.Run("one question", func(t *testing.T) {
		r.open(t, a.one)
		r.user.pick("SQLite")
		r.prompt(t, r.task)
		got := r.result(t)
		require.Contains(t, got, "SQLite")
		require.NotContains(t, got, "PostgreSQL")
	})
	if a.two != nil {
		t.Run("two questions", func(t *testing.T) { a.twoQuestions(t, r) })
	}
	t.Run("own words", func(t *testing.T) { a.ownWords(t, r) })
	t.Run("dismissed", func(t *testing.T) {
		r.open(t, a.one)
		r.user.dismiss()
		r.prompt(t, r.task)
		a.refused(t, r, a.dismissed)
	})
	t.Run("session/cancel while it is open", func(t *testing.T) {
		r.open(t, a.one)
		r.user.hold()
		done := r.promptSoon(r.task)
		r.user.awaitAsked(t)
		r.cancel(t)
		require.Equal(t, "cancelled", r.await(t, done).Get("stopReason").Str)
		require.Equal(t, 1, len(r.model.Requests()), "the model is not called again")
	})
	t.Run("killed while it is open", func(t *testing.T) {
		r.open(t, a.one)
		r.user.hold()
		done := r.promptSoon(r.task)
		r.user.awaitAsked(t)
		require.NoError(t, syscall.Kill(r.pid(t), syscall.SIGKILL))
		require.ErrorContains(t, acptest.Next(t, done).err, "the agent is gone")
		require.Error(t, r.end(t), "the command says so")
	})
}

// withForms is another process, for an editor that shows forms.
func (a realAgent) withForms(t *testing.T, agent realtest.Agent) {
	r := a.start(t, agent, withForms)
	t.Run("one question, in a form", func(t *testing.T) {
		r.open(t, a.one)
		r.user.fill("SQLite")
		r.prompt(t, r.task)
		got := r.result(t)
		require.Contains(t, got, "SQLite")
		require.NotContains(t, got, "PostgreSQL")
	})
	t.Run("declined", func(t *testing.T) {
		r.open(t, a.one)
		r.user.decline()
		r.prompt(t, r.task)
		want := a.dismissed
		if a.declined != "" {
			want = a.declined
		}
		a.refused(t, r, want)
	})
}

func (a realAgent) twoQuestions(t *testing.T, r *realRun) {
	r.open(t, a.two)
	r.user.pick("SQLite")
	r.user.pick("Auth")
	if a.several {
		r.user.pick("Cache", "__done__")
	}
	r.prompt(t, r.task)
	got := r.result(t)
	require.Contains(t, got, "SQLite")
	require.Contains(t, got, "Auth")
	require.Equal(t, a.several, strings.Contains(got, "Cache"), got)
	require.NotContains(t, got, "Logs")
}

func (a realAgent) ownWords(t *testing.T, r *realRun) {
	r.open(t, a.one)
	if !a.words {
		r.user.pick("SQLite")
		r.prompt(t, r.task)
		require.NotContains(t, r.user.offered(), "__other__", "the agent would lose them")
		return
	}
	r.user.pick("__other__")
	reply := r.prompt(t, r.task)
	require.True(t, reply.Get("_meta.acp-bridge.waitingFor").Exists(), reply.Raw)
	r.prompt(t, "DuckDB, in memory")
	require.Contains(t, r.result(t), "DuckDB, in memory")
}

// refused checks what the model got from a user who did not answer.
func (a realAgent) refused(t *testing.T, r *realRun, want string) {
	t.Helper()
	if want == "" { // the turn ends
		require.Equal(t, 1, len(r.model.Requests()), "the model is not called again")
		return
	}
	got := r.result(t)
	require.Contains(t, got, want)
	require.NotContains(t, got, "SQLite")
}

// pid is the agent's process, which wrote it down.
func (r *realRun) pid(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(r.pidFile)
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	return pid
}

// noteProcess is an agent's command that writes down its process.
func noteProcess(args []string, file string) []string {
	return append([]string{"sh", "-c", `echo $$ >"$0"; exec "$@"`, file}, args...)
}

// start starts an agent. It ends with the test, and leaves nothing.
func (a realAgent) start(t *testing.T, agent realtest.Agent, capabilities string) *realRun {
	t.Helper()
	model := modeltest.New(t)
	dir, err := os.MkdirTemp("", "real-"+a.name)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.Empty(t, leftBehind(t, dir), "processes are left")
		removeSoon(dir)
	})
	start, err := agent.Prepare(dir, model.URL)
	require.NoError(t, err)
	pids := filepath.Join(dir, "pid")
	start.Args = noteProcess(start.Args, pids)
	r := newRealRun(t, a.name, start, model, capabilities)
	r.pidFile, r.tool = pids, a.tool
	return r
}

// open opens a session in which the model asks.
func (r *realRun) open(t *testing.T, input object) {
	t.Helper()
	tool := r.tool
	if server, rest, ok := strings.Cut(tool, "___"); ok && r.opened > 0 { // Droid's names have it, and it keeps the tool out of sight
		tool = fmt.Sprintf("%s-%d___%s", server, r.opened+1, rest)
	}
	r.openWith(t, []any{}, modeltest.Use("call_real0001", tool, input), modeltest.Say("Thank you."))
}

// openWith opens a session with MCP servers, in which the model says this.
func (r *realRun) openWith(t *testing.T, servers []any, replies ...modeltest.Reply) {
	t.Helper()
	r.opened++
	r.task = fmt.Sprintf("Set up service %d-%s", r.opened, rand.Text())
	r.model.Restart(r.task)
	r.model.Script(replies...)
	r.user.forget()
	r.session = r.call(t, "session/new", object{"cwd": r.dir, "mcpServers": servers}).Get("sessionId").Str
	require.NotEmpty(t, r.session)
}

// leftBehind lists processes that were started in this home.
func leftBehind(t *testing.T, home string) (left []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	for _, file := range files {
		if env, err := os.ReadFile(file); err == nil && strings.Contains(string(env), "HOME="+home) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
			left = append(left, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return left
}

// removeSoon removes a folder in which what an agent left behind may still write.
func removeSoon(dir string) {
	for range 20 {
		if os.RemoveAll(dir) == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// result is what the model was told about its question.
func (r *realRun) result(t *testing.T) string {
	t.Helper()
	return r.resultIn(t, 1)
}

// resultIn is what the n-th request to the model says of the tool that it called last.
func (r *realRun) resultIn(t *testing.T, n int) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), realPatience)
	defer cancel()
	requests, err := r.model.Await(ctx, n+1)
	require.NoError(t, err, "%v", r.model.Other())
	text, ok := requests[n].Result("")
	require.True(t, ok, "the model got no result: %s", fmt.Sprint(requests[n].Users))
	return text
}
