package backend_test

import (
	"os"
	"path/filepath"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/internal/claude/apitest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// Whoever watches the desk is told when the agent is done or has failed: not when it waits
// for an answer, and not when the user has stopped it.
func TestEndsOfTurnsAreTold(t *testing.T) {
	cli := ct.New(t, turns(
		steps{asksLater("first", "AskUserQuestion", object{"questions": qs(runTests)}, false), ct.Wait("answered"), ct.Text("All tests pass.")},
		steps{ct.Text("One moment."), ct.Hang()},
		steps{ct.Die(1, "out of memory")},
	))
	d := new(desk.Desk)
	ends := make(chan desk.Turn, 10)
	t.Cleanup(d.WatchTurns(func(turn desk.Turn) { ends <- turn }))
	e := serve(t, backend.Options{Claude: cli.Path, First: adapter.Conversation, Desk: d})
	e.initialize(`{}`)
	dir := t.TempDir()
	s := e.open(dir)

	e.prompt(s, "hi").ends(acp.StopReasonEndTurn) // the question stands in the conversation
	answer := e.prompt(s, "Yes")
	require.Contains(t, answers(cli, "first"), "Yes")
	cli.Release("answered")
	answer.ends(acp.StopReasonEndTurn)
	end := <-ends
	require.NoError(t, end.Err)
	require.Equal(t, []string{s, dir, "Claude Code"}, []string{end.Session, end.Dir, end.Agent})
	require.Contains(t, end.About.Told().Said, "All tests pass.")

	stopped := e.prompt(s, "more")
	e.await(s, "the agent at work", func(u gjson.Result) bool { return u.Get("content.text").Str == "One moment." })
	e.cancel(s)
	stopped.ends(acp.StopReasonCancelled)

	e.prompt(s, "once more").fails("out of memory")
	end = <-ends
	require.ErrorContains(t, end.Err, "out of memory", "nobody is told of what was stopped")
	require.Empty(t, ends)
}

// A turn that leaves something at work in the background is told as such: the agent comes
// back with a turn of its own, and is done then. What is there all the time is no work.
func TestATurnThatLeavesWorkBehind(t *testing.T) {
	tasks := func(list string) ct.Step {
		return ct.Raw(`{"type":"system","subtype":"background_tasks_changed","tasks":[` + list + `]}`)
	}
	cli := ct.New(t, turns(
		steps{tasks(`{"task_id":"a","task_type":"local_agent","description":"look"},{"task_id":"m","ambient":true}`), ct.Text("It works on.")},
		steps{tasks(`{"task_id":"m","ambient":true}`), ct.Text("It is done.")},
	))
	d := new(desk.Desk)
	ends := make(chan desk.Turn, 10)
	t.Cleanup(d.WatchTurns(func(turn desk.Turn) { ends <- turn }))
	e := serve(t, backend.Options{Claude: cli.Path, Desk: d})
	e.initialize(`{}`)
	s := e.open(t.TempDir())
	for _, working := range []bool{true, false} {
		e.prompt(s, "go on").ends(acp.StopReasonEndTurn)
		end := <-ends
		require.NoError(t, end.Err)
		require.Equal(t, working, end.Working)
	}
}

// The real CLI says what it has left at work, and comes back when that ends.
func TestRealTurnThatLeavesWorkBehind(t *testing.T) {
	t.Parallel()
	path, api, dir := realClaude(t), apitest.New(t), t.TempDir()
	api.Script(
		apitest.Use(apitest.ToolUse("toolu_1", "Bash", object{"command": "while [ ! -e go ]; do sleep 0.1; done", "run_in_background": true})),
		apitest.Say("It works on."), apitest.Say("It is done."))
	d := new(desk.Desk)
	ends := make(chan desk.Turn, 10)
	t.Cleanup(d.WatchTurns(func(turn desk.Turn) { ends <- turn }))
	e := serve(t, backend.Options{Claude: path, Args: []string{"--allowedTools", "Bash"}, Env: apitest.Env(api, t.TempDir()), Desk: d})
	e.initialize(`{}`)
	e.prompt(e.open(dir), "go").ends(acp.StopReasonEndTurn)
	require.True(t, (<-ends).Working)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	end := <-ends
	require.False(t, end.Working)
	require.Contains(t, end.About.Told().Said, "It is done.")
}
