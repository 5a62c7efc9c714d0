//go:build linux

package proxy_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/proxy"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/modeltest"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/realtest"
)

// TestRealPlan has Grok present a plan, which the user approves.
func TestRealPlan(t *testing.T) {
	agent := findReal(t, "grok")
	r := realAgent{name: "grok"}.start(t, agent, noForms)
	r.openWith(t, []any{}, modeltest.Use("call_plan0001", "enter_plan_mode", object{}), modeltest.Use("call_plan0002", "exit_plan_mode", object{}), modeltest.Say("Thank you."))
	r.user.pick("Approve")
	r.prompt(t, r.task)
	require.Contains(t, r.resultOf(t, 3), "approved")
}

// The second version of OpenCode has the command of the first: it starts, its permissions
// are asked, and so are its questions, also a sub-agent's: by a plugin that leaves nothing
// behind. Without it the user learns what becomes of them.
func TestRealOpenCode2(t *testing.T) {
	agent := findReal(t, "opencode2")
	model := modeltest.New(t)
	for name, play := range map[string]struct {
		caps string
		tool proxy.ToolUse
	}{"no forms": {caps: noForms}, "forms": {caps: withForms}, "no tool": {withForms, proxy.ToolNever}} {
		t.Run(name, func(t *testing.T) {
			start, err := agent.Prepare(t.TempDir(), model.URL)
			require.NoError(t, err)
			start.Env = append(start.Env, `OPENCODE_CONFIG_CONTENT={"agents":{"asker":{"description":"asks","mode":"subagent","permissions":[{"action":"question","resource":"*","effect":"allow"}]}}}`)
			temp := t.TempDir()
			t.Setenv("TMPDIR", temp)
			r := newRealRunWith(t, "opencode", start, model, play.caps, proxy.Options{Tool: play.tool})
			require.Eventually(t, func() bool { // it has none while its models are not ready, for five seconds each time
				_, err := r.editor.Call(t.Context(), "session/new", object{"cwd": r.dir, "mcpServers": []any{}})
				return err == nil
			}, realPatience, time.Second)
			r.openWith(t, []any{}, modeltest.Use("call_two0001", "shell", object{"command": "echo hi > a.txt", "description": "writes"}), modeltest.Say("Thank you."))
			require.Equal(t, "end_turn", r.prompt(t, r.task).Get("stopReason").Str)
			require.FileExists(t, filepath.Join(start.Dir, "a.txt"))
			ask, both := question("multiple")
			if play.tool == proxy.ToolNever {
				r.openWith(t, []any{}, modeltest.Use("call_two0002", "question", ask), modeltest.Say("Thank you."))
				require.Equal(t, "cancelled", r.prompt(t, r.task).Get("stopReason").Str)
				r.user.mu.Lock()
				defer r.user.mu.Unlock()
				require.Contains(t, r.user.told, "dismissed its own question")
				return
			}
			answer := func(label string) {
				if play.caps == withForms {
					r.user.fill(label)
				} else {
					r.user.pick(label)
				}
			}

			r.openWith(t, []any{}, modeltest.Use("call_two0003", "question", ask), modeltest.Say("Thank you."))
			answer("SQLite")
			require.Equal(t, "end_turn", r.prompt(t, r.task).Get("stopReason").Str)
			require.Contains(t, r.resultOf(t, 2), "SQLite")

			r.openWith(t, []any{}, modeltest.Use("call_two0004", "question", both), modeltest.Say("Thank you."))
			r.user.dismiss()
			if play.caps == withForms {
				r.user.forget()
				r.user.decline()
			}
			require.Equal(t, "end_turn", r.prompt(t, r.task).Get("stopReason").Str)
			require.Regexp(t, "dismissed the question|declined to answer", r.resultOf(t, 2))

			r.openWith(t, []any{}, modeltest.Use("call_two0005", "question", ask), modeltest.Say("Thank you."))
			r.user.hold()
			done := r.promptSoon(r.task)
			r.user.awaitAsked(t)
			r.cancel(t)
			require.Equal(t, "cancelled", r.await(t, done).Get("stopReason").Str)

			r.openWith(t, []any{}, modeltest.Use("call_two0006", "subagent", object{"agent": "asker", "description": "asks", "prompt": r.task}),
				modeltest.Use("call_two0007", "question", ask), modeltest.Say("It is done."), modeltest.Say("Thank you."))
			answer("SQLite")
			require.Equal(t, "end_turn", r.prompt(t, r.task).Get("stopReason").Str)
			t.Log(r.resultOf(t, 3))
			require.Contains(t, r.resultOf(t, 3), "SQLite")
			mine, err := filepath.Glob(filepath.Join(temp, "acp-bridge-*", "*"))
			require.NoError(t, err)
			require.Len(t, mine, 2, "the plugin, and where it asks")
			r.close()
			r.end(t)
			mine, err = filepath.Glob(filepath.Join(temp, "acp-bridge-*"))
			require.NoError(t, err)
			require.Empty(t, mine)
			require.NotContains(t, r.user.told, "dismissed its own question")
		})
	}
}

// findReal skips the test of an agent that is not to be run.
func findReal(t *testing.T, name string) realtest.Agent {
	t.Helper()
	agent, err := realtest.Find(name)
	switch {
	case os.Getenv(realtest.Folder) == "":
		t.Skip("SKIPPED: needs real agents; set " + realtest.Folder + " to a folder of .ci/agents/install, as .ci/run does")
	case agent.Long && os.Getenv(realtest.Longer) == "":
		t.Skip("SKIPPED: this agent takes minutes; set " + realtest.Longer + " for the longer run")
	case errors.Is(err, realtest.ErrMissing):
		t.Skip("SKIPPED: npm could not install this agent here: ", err)
	}
	require.NoError(t, err)
	return agent
}

// resultOf is what the model was told last, in its nth request.
func (r *realRun) resultOf(t *testing.T, n int) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), realPatience)
	defer cancel()
	requests, err := r.model.Await(ctx, n)
	require.NoError(t, err, "%v", r.model.Other())
	text, ok := requests[n-1].Result("")
	require.True(t, ok, "the model got no result: %s", requests[n-1].Body)
	return text
}
