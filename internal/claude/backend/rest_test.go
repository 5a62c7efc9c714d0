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
