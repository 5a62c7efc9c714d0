package backend_test

import (
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
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
	t.Cleanup(d.WatchTurns(func(turn desk.Turn) {
		if turn.Prompts == 0 {
			ends <- turn
		}
	}))
	e := serve(t, backend.Options{Claude: cli.Path, First: adapter.Conversation, Desk: d})
	e.Initialize(`{}`)
	dir := t.TempDir()
	s := e.Open(dir)

	e.Prompt(s, "hi").Ends(acp.StopReasonEndTurn) // the question stands in the conversation
	answer := e.Prompt(s, "Yes")
	require.Contains(t, answers(cli, "first"), "Yes")
	cli.Release("answered")
	answer.Ends(acp.StopReasonEndTurn)
	end := <-ends
	require.NoError(t, end.Err)
	require.Equal(t, []string{s, dir, "Claude Code"}, []string{end.Session, end.Dir, end.Agent})
	require.Contains(t, end.About.Told().Said, "All tests pass.")

	stopped := e.Prompt(s, "more")
	e.Await(s, "the agent at work", func(u gjson.Result) bool { return u.Get("content.text").Str == "One moment." })
	e.Cancel(s)
	stopped.Ends(acp.StopReasonCancelled)

	e.Prompt(s, "once more").Fails("out of memory")
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
	t.Cleanup(d.WatchTurns(func(turn desk.Turn) {
		if turn.Prompts == 0 {
			ends <- turn
		}
	}))
	e := serve(t, backend.Options{Claude: cli.Path, Desk: d})
	e.Initialize(`{}`)
	s := e.Open(t.TempDir())
	for _, working := range []bool{true, false} {
		e.Prompt(s, "go on").Ends(acp.StopReasonEndTurn)
		end := <-ends
		require.NoError(t, end.Err)
		require.Equal(t, working, end.Working)
	}
}
