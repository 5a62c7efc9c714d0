//go:build linux

package proxy_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/modeltest"
	"github.com/acp-bridge/acp-bridge/internal/realtest"
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
