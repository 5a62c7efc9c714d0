//go:build unix

package hook_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/terminals"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

// One session is open in two terminals. What is answered, dismissed or killed in one of
// them is nothing to what the other asks.
func TestRealSessionInTwoTerminals(t *testing.T) {
	t.Parallel()
	terminals.NeedsLonger(t)
	const session = "6b1f0c9e-7d5a-4c53-9f0e-2f4a8e1d3b77"
	first, s := terminals.NewClaude(t, nil, apitest.Say("Hello."), asksDatabase("toolu_1"), apitest.Say("Noted one."))
	first.Start("--session-id", session)
	first.Prompt("hello")
	first.See("Hello.")
	second := first.Beside(asksDatabase("toolu_2"), apitest.Say("Noted two."), asksDatabase("toolu_3"))
	second.Start("--resume", session)

	first.Prompt("one")
	first.See("Chat about this")
	one := s.Next()
	second.Prompt("two")
	second.See("Chat about this")
	two := s.Next()
	require.Equal(t, one.Conversation, two.Conversation)
	require.NotEqual(t, one.Key(), two.Key())
	s.Answer(two, watchtest.Picks("SQLite"))
	require.Contains(t, second.Told("toolu_2").Text, "SQLite")
	second.See("Noted two.")
	s.Receipt(two, "consumed")

	second.Prompt("three")
	three := s.Next()
	require.NoError(t, syscall.Kill(second.PID(), syscall.SIGKILL))
	require.Equal(t, "failed", s.Settled(three).End.Outcome)

	now, err := s.Board.FindRef(one.Ref())
	require.NoError(t, err)
	require.True(t, now.Open(), "what the other terminal asks stays open")
	first.See("Chat about this")
	s.Answer(one, watchtest.Picks("PostgreSQL"))
	require.Contains(t, first.Told("toolu_1").Text, "PostgreSQL")
	s.Receipt(one, "consumed")
}

// A credential that was removed, or never was one: the terminal asks as if there were no
// hook, and nothing of it is on the screen.
func TestRealCredentialRemoved(t *testing.T) {
	t.Parallel()
	terminals.NeedsLonger(t)
	c, s := terminals.NewClaude(t, nil, asksDatabase("toolu_1"), apitest.Say("Noted one."), asksDatabase("toolu_2"), apitest.Say("Noted two."))
	c.Start()
	c.Prompt("one")
	c.See("Chat about this")
	r := s.Next()
	require.NoError(t, s.Access.Remove("terminals"))
	require.NotEqual(t, "answered", s.Settled(r).End.Outcome)
	c.Choose("Chat about this", "2")
	require.Contains(t, c.Told("toolu_1").Text, "SQLite")
	c.See("Noted one.")
	c.Prompt("two")
	c.Choose("Chat about this", "1")
	require.Contains(t, c.Told("toolu_2").Text, "PostgreSQL")
	require.NotContains(t, c.See("Noted two."), "hook error")
	require.Len(t, s.Board.Conversation(r.Group, r.Conversation), 1, "who has no credential asks nothing")
}

// Without a terminal, permissions are asked at the hub, and questions are switched off.
func TestRealPrint(t *testing.T) {
	t.Parallel()
	terminals.NeedsLonger(t)
	c, s := terminals.NewClaude(t, nil, bash("toolu_1", "touch printed"), asksDatabase("toolu_2"), apitest.Say("Done."))
	c.Begin("-p", "go")
	r := s.Next()
	require.Contains(t, r.Detail, "touch printed")
	s.Answer(r, watchtest.Picks("Allow"))
	require.NotContains(t, c.Told("toolu_2").Text, "SQLite")
	require.FileExists(t, filepath.Join(c.Dir, "printed"))
	require.Len(t, s.Board.Conversation(r.Group, r.Conversation), 1, "the question was not asked")
}
