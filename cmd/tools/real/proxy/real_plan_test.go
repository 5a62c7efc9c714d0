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
// are asked, and the user learns what becomes of its questions.
func TestRealOpenCode2(t *testing.T) {
	agent := findReal(t, "opencode2")
	model := modeltest.New(t)
	start, err := agent.Prepare(t.TempDir(), model.URL)
	require.NoError(t, err)
	r := newRealRun(t, "opencode", start, model, withForms)
	require.Eventually(t, func() bool { // it has none while its models are not ready, for five seconds each time
		_, err := r.editor.Call(t.Context(), "session/new", object{"cwd": r.dir, "mcpServers": []any{}})
		return err == nil
	}, realPatience, time.Second)
	r.openWith(t, []any{}, modeltest.Use("call_two0001", "shell", object{"command": "echo hi > a.txt", "description": "writes"}), modeltest.Say("Thank you."))
	require.Equal(t, "end_turn", r.prompt(t, r.task).Get("stopReason").Str)
	require.FileExists(t, filepath.Join(start.Dir, "a.txt"))
	ask, _ := question("multiple")
	r.openWith(t, []any{}, modeltest.Use("call_two0002", "question", ask), modeltest.Say("Thank you."))
	require.Equal(t, "cancelled", r.prompt(t, r.task).Get("stopReason").Str)
	r.user.mu.Lock()
	defer r.user.mu.Unlock()
	require.Contains(t, r.user.told, "dismissed its own question")
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
