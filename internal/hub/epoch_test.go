package hub_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// An answer of before goes to no new question. What an agent asks by itself is new: between
// its process and the one that was killed there may have been others, whose users have
// prompted, and of which the hub knows nothing. What its session's history ends with is asked
// again under its own id, and is the last of that; without an id nothing is.
func TestAnOldAnswerIsNoneToANewQuestion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id         string
		again, old bool
	}{{"ask:0", false, false}, {"ask:1", false, false}, {"toolu_1", true, false}, {"ask:0", true, true}, {"", true, false}, {"ask:2", true, false}} {
		b := open(t, t.TempDir(), hub.Options{})
		for _, was := range [][2]string{{"/1", "Deploy to production?"}, {"ask:2/1", "Deploy to production?"}, {"ask:2/2", "Delete it?"}} {
			answer(t, b, askBy(t, b, "killed", was[0], was[1]), "Yes", "phone")
		}
		left := answer(t, b, askBy(t, b, "killed", "ask:0", "Deploy to production?"), "Yes", "phone")
		b.Expire(later())
		a := asking("c", "new", "Deploy to production?")
		a.Asker, a.Call.ID, a.Again = "resumed", c.id, c.again
		if c.again && !c.old { // whoever looks what was left looks for a call
			found, err := b.Left(t.Context(), a)
			require.ErrorIs(t, err, hub.ErrNotFound, "nor is it found: %v", found)
		}
		now := acptest.Must(b.Ask(t.Context(), a))
		require.Equal(t, c.old, !now.Open(), c)
		require.Equal(t, c.old, left.Key() == now.Key(), c)
	}
}

// Two sub-agents whose models count alike ask at once, under names of their own: both are
// asked, and each gets its own answer.
func TestTwoOfOneProcessWithTheAgentsSameID(t *testing.T) {
	b := boardBeside(t)
	ask := func(name string) *hub.Record { return askBy(t, b, "bridge", "ask:0/"+name, "Go?") }
	one, two := ask("n1"), ask("n2")
	require.NotEqual(t, one.Key(), two.Key())
	answer(t, b, one, "Yes", "phone")
	answer(t, b, two, "No", "phone")
	require.Equal(t, "Yes", ask("n1").End.Answers[0].Selected[0])
	require.Equal(t, "No", ask("n2").End.Answers[0].Selected[0])
}

// A question that was taken over is the same to the people who saw it: what they saw
// before is what they answer. What was never theirs is not.
func TestTakenOverWhileSomebodyReads(t *testing.T) {
	b := boardBeside(t)
	other := ask(t, b, "c", "other", "Stop?")
	seen := askBy(t, b, "dead", "id", "Go on?")
	b.Expire(later())
	a := asking("c", "id/new", "Go on?")
	a.Asker = "next"
	require.ErrorIs(t, acptest.Err(b.Left(t.Context(), a)), hub.ErrNotFound, "nobody has answered it")
	now := askBy(t, b, "next", "id/new", "Go on?")
	require.Equal(t, seen.Key(), now.Key())
	require.Greater(t, now.Revision, seen.Revision)
	by := func(revision uint64) error {
		_, err := b.Answer(t.Context(), hub.Ref{Conversation: "c", ID: "id", Revision: revision}, says("Yes"), "phone")
		return err
	}
	require.ErrorIs(t, by(other.Revision), hub.ErrRevision)
	require.ErrorIs(t, by(now.Revision+1), hub.ErrRevision)
	require.NoError(t, by(seen.Revision))
}

// What was asked under a name before something else was is past: its answer is for nobody.
func TestAnIDThatGoesBackToItsFirstWords(t *testing.T) {
	b := boardBeside(t)
	acptest.Must(b.Delivered(t.Context(), answer(t, b, ask(t, b, "c", "1", "Drop staging?"), "Yes", "phone").Ref()))
	require.True(t, ask(t, b, "c", "1", "Drop production?").Open())
	require.True(t, ask(t, b, "c", "1", "Drop staging?").Open())
	require.True(t, ask(t, b, "c", "1", "Drop production?").Open(), "nobody has ended it but the agent")
}

// What a process left is left as a whole, in whatever order its successor asks for it.
func TestWhatWasLeftInAnotherOrder(t *testing.T) {
	b := boardBeside(t)
	for _, text := range []string{"First?", "Second?"} {
		answer(t, b, askBy(t, b, "dead", text, text), "Yes", "phone")
	}
	b.Expire(later())
	for _, text := range []string{"Second?", "First?"} {
		require.False(t, askBy(t, b, "next", text+"/new", text).Open(), text)
	}
}

// Whoever saw one question under an id has not seen another one that was taken over since.
func TestARevisionIsOfOneQuestion(t *testing.T) {
	b := boardBeside(t)
	seen := askBy(t, b, "other", "ask:0", "ls?")
	askBy(t, b, "dead", "ask:0", "rm -rf /?")
	b.Expire(later())
	require.True(t, askBy(t, b, "next", "ask:0", "rm -rf /?").Open())
	acptest.Must(b.TakeBack(t.Context(), as(seen, "other"), convert.Outcome{Status: convert.Failed}, ""))
	require.ErrorIs(t, acptest.Err(b.Answer(t.Context(), hub.Ref{Conversation: "c", ID: "ask:0", Revision: seen.Revision}, says("Yes"), "phone")), hub.ErrRevision)
}
