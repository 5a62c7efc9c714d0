//go:build unix

// Package command_test runs the command with the real Claude Code, whose model is played.
package command_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/terminals"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

func TestMain(m *testing.M) { terminals.Main(m) }

// bridge is the path of acp-bridge.
func bridge(t *testing.T) string {
	t.Helper()
	program, err := terminals.Program()
	require.NoError(t, err)
	return program
}

// The real CLI, a real hub and a bridge that is gone when the answer comes: it is
// taken without asking when the session goes on.
func TestRealAnsweredAtTheHubMeanwhile(t *testing.T) {
	path := terminals.ClaudePath(t)
	s, program, api, home, dir := watchtest.New(t, web.CanAsk), bridge(t), apitest.New(t), t.TempDir(), t.TempDir()
	api.Script(apitest.Use(apitest.ToolUse("toolu_01AbCdEf", "AskUserQuestion", databaseInput)), apitest.Say("SQLite it is."))
	token := terminals.TokenFile(t, s)
	turn := func(code int) string {
		t.Helper()
		b := exec.Command(program, "chat", "-p", "Set it up", "--headless", "--", program, "--hub", s.URL, "--hub-token-file", token, "--claude", path)
		b.Dir, b.SysProcAttr = dir, &syscall.SysProcAttr{Setsid: true}
		b.Env = append(apitest.Env(api, home), "XDG_STATE_HOME="+home)
		out, _ := b.CombinedOutput()
		require.Equal(t, code, b.ProcessState.ExitCode(), "%s", out)
		return string(out)
	}
	turn(4)
	r := s.Next()
	require.Equal(t, "toolu_01AbCdEf", r.Call.ID)
	s.Answer(r, convert.Answer{Selected: []string{"SQLite"}})
	out := turn(0)
	require.Contains(t, out, "answered by phone while the session was closed")
	require.Contains(t, out, "SQLite it is.")
	s.Receipt(r, "consumed")
	require.NoFileExists(t, filepath.Join(dir, ".acp-bridge", "pending-questions.json"))
}

var databaseInput = map[string]any{"questions": []any{map[string]any{"question": "Which database?", "header": "DB", "multiSelect": false,
	"options": []any{map[string]any{"label": "PostgreSQL", "description": "a"}, map[string]any{"label": "SQLite", "description": "b"}}}}}

// The real CLI: a turn without a terminal is left with its question in a file, and
// the same command goes on with the session and the answer.
func TestRealPrint(t *testing.T) {
	path := terminals.ClaudePath(t)
	program, api, home, dir := bridge(t), apitest.New(t), t.TempDir(), t.TempDir()
	api.Script(apitest.Use(apitest.ToolUse("toolu_1", "AskUserQuestion", databaseInput)), apitest.Say("SQLite it is."), apitest.Say("And more."))
	turn := func(code int, args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		b := exec.CommandContext(ctx, program, append(append([]string{"chat"}, args...), "--", program, "--claude", path)...)
		b.Cancel = func() error { return b.Process.Signal(syscall.SIGQUIT) } // which shows where it waits
		b.WaitDelay = time.Second
		b.Dir, b.SysProcAttr = dir, &syscall.SysProcAttr{Setsid: true}
		b.Env = append(apitest.Env(api, home), "XDG_STATE_HOME="+home)
		out, _ := b.CombinedOutput()
		require.Equal(t, code, b.ProcessState.ExitCode(), "%s", out)
		return string(out)
	}
	require.Contains(t, turn(4, "-p", "Set it up", "--headless"), "The question is waiting in")
	require.Contains(t, turn(4, "-p", "Set it up", "--headless"), "The question is waiting in", "it is asked again, in the same session")
	answer := func() {
		t.Helper()
		b := exec.Command(program, "questions", "answer", "--answers", `{"Which database?":"SQLite"}`)
		b.Dir, b.Env = dir, append(apitest.Env(api, home), "XDG_STATE_HOME="+home)
		out, err := b.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	answer()
	require.Contains(t, turn(0, "-p", "Set it up", "--headless"), "SQLite it is.")
	all := api.Main()
	require.True(t, all[len(all)-1].Contains("Set it up"), "the session was resumed")
	require.Contains(t, string(all[len(all)-1].Body), `- Which database?\n  SQLite`)
	require.Contains(t, turn(0, "-p", "More", "--continue"), "And more.")
	all = api.Main()
	require.True(t, all[len(all)-1].Contains("Set it up"), "the last session was resumed")

	// Rule 5: whoever takes the session up again has its answer, whatever the prompt.
	api.Script(apitest.Use(apitest.ToolUse("toolu_2", "AskUserQuestion", databaseInput)), apitest.Say("SQLite again."), apitest.Say("Going on."))
	turn(4, "-p", "Ask again", "--headless")
	answer()
	out := turn(0, "--continue", "-p", "go on", "--headless")
	require.Contains(t, out, "SQLite again.")
	require.Contains(t, out, "Going on.")
	waits := filepath.Join(dir, ".acp-bridge", "pending-questions.json")
	require.NoFileExists(t, waits)

	// The file and words, for the model, in the session that asked.
	api.Script(apitest.Use(apitest.ToolUse("toolu_3", "AskUserQuestion", databaseInput)), apitest.Say("As you say."))
	turn(4, "-p", "Ask once more", "--headless")
	require.Contains(t, turn(0, "-p", "@.acp-bridge/pending-questions.json", "use SQLite, call it orders", "--headless"), "As you say.")
	all = api.Main()
	require.True(t, all[len(all)-1].Contains("Ask once more"), "in the same session")
	require.Contains(t, string(all[len(all)-1].Body), "use SQLite, call it orders")
	require.NoFileExists(t, waits)
}
