package hub_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// An answer of before goes to no new question: a process that resumed the session, and whose
// user has prompted since, asks the same words under the same id of the agent. It has a
// question of its own, whatever the id is.
func TestAnOldAnswerIsNoneToANewQuestion(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"ask:0", "ask:1", "toolu_1"} {
		b := open(t, t.TempDir(), hub.Options{})
		old := askBy(t, b, "killed", "ask:0", "Deploy to production?")
		answer(t, b, old, "Yes", "phone")
		b.Expire(later())
		a := asking("c", id, "Deploy to production?")
		a.Asker, a.Prompts = "resumed", 1
		now, err := b.Ask(t.Context(), a)
		require.NoError(t, err)
		require.True(t, now.Open(), id)
		require.NotEqual(t, old.Key(), now.Key())
		left, err := b.Left(t.Context(), a)
		require.ErrorIs(t, err, hub.ErrNotFound, "nor is it found: %v", left)
	}
}

// Two sub-agents whose models count alike ask at once, under names of their own: both are
// asked, and each gets its own answer.
func TestTwoOfOneProcessWithTheAgentsSameID(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir(), hub.Options{})
	ask := func(name, text string) *hub.Record {
		a := asking("c", name, text)
		a.Asker, a.Call.ID = "bridge", "ask:0"
		r, err := b.Ask(t.Context(), a)
		require.NoError(t, err)
		return r
	}
	one, two := ask("n1", "Go?"), ask("n2", "Go?")
	require.NotEqual(t, one.Key(), two.Key())
	answer(t, b, one, "Yes", "phone")
	answer(t, b, two, "No", "phone")
	require.Equal(t, "Yes", ask("n1", "Go?").End.Answers[0].Selected[0])
	require.Equal(t, "No", ask("n2", "Go?").End.Answers[0].Selected[0])
}

// A question that was taken over is the same to the people who saw it: what they saw
// before is what they answer. What was never theirs is not.
func TestTakenOverWhileSomebodyReads(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir(), hub.Options{})
	other := ask(t, b, "c", "other", "Stop?")
	seen := askBy(t, b, "dead", "id", "Go on?")
	b.Expire(later())
	a := asking("c", "new", "Go on?")
	a.Asker = "next"
	_, err := b.Left(t.Context(), a)
	require.ErrorIs(t, err, hub.ErrNotFound, "nobody has answered it")
	now := askBy(t, b, "next", "new", "Go on?")
	require.Equal(t, seen.Key(), now.Key())
	require.Greater(t, now.Revision, seen.Revision)
	by := func(revision uint64) error {
		_, err := b.Answer(t.Context(), hub.Ref{Conversation: "c", ID: "id", Revision: revision}, says("Yes"), "phone")
		return err
	}
	require.ErrorIs(t, by(other.Revision), hub.ErrRevision)
	require.ErrorIs(t, by(now.Revision+1), hub.ErrRevision)
	require.NoError(t, b.Prompted(t.Context(), hub.Ref{Conversation: "c", Asker: "third"}, 1))
	require.NoError(t, by(seen.Revision))
}

// What a process left is past when the user has prompted since, it or its successor: a
// successor that was not prompted does not get it. Other prompts are of no matter.
func TestWhatTheUserPromptedOverIsLeftToNobody(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		prompted     string
		prompts      int
		before, past bool
		silent       bool // nothing is asked behind the prompt
	}{
		{"second", 1, false, true, false}, {"second", 1, true, false, false}, {"first", 2, false, true, false}, {"first", 1, false, false, false}, {"first", 0, false, false, false},
		{"second", 1, false, true, true}, {"second", 1, true, false, true}, {"first", 2, false, true, true}, {"first", 1, false, false, true},
	} {
		b := open(t, t.TempDir(), hub.Options{})
		by := func(process, name, text string, prompts int) *hub.Record {
			a := asking("c", name, text)
			a.Asker, a.Prompts = process, prompts
			r, err := b.Ask(t.Context(), a)
			require.NoError(t, err)
			return r
		}
		prompt := func() {
			if !c.silent {
				by(c.prompted, "n2", "Another thing?", c.prompts)
				return
			}
			require.NoError(t, b.Prompted(t.Context(), hub.Ref{Conversation: "c", Asker: c.prompted}, c.prompts))
		}
		if c.before {
			prompt()
		}
		left := answer(t, b, by("first", "n1", "Deploy?", 1), "Yes", "phone")
		if !c.before {
			prompt()
		}
		b.Expire(later())
		if c.past {
			_, err := b.Claim(t.Context(), as(left, "third"))
			require.ErrorIs(t, err, hub.ErrNotAsker, c)
			a := asking("c", "", "Deploy?") // a process knows of its own prompts, and looks what was there before
			a.Asker = c.prompted
			_, err = b.Left(t.Context(), a)
			require.NoError(t, err, c)
			require.NoError(t, b.Prompted(t.Context(), hub.Ref{Conversation: "c", Asker: "between"}, 1))
			_, err = b.Left(t.Context(), a)
			require.ErrorIs(t, err, hub.ErrNotFound, c)
		}
		require.Equal(t, c.past, by("third", "n3", "Deploy?", 0).Open(), c)
	}
}

// What was asked under a name before something else was is past: its answer is for nobody.
func TestAnIDThatGoesBackToItsFirstWords(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir(), hub.Options{})
	_, err := b.Delivered(t.Context(), answer(t, b, ask(t, b, "c", "1", "Drop staging?"), "Yes", "phone").Ref())
	require.NoError(t, err)
	require.True(t, ask(t, b, "c", "1", "Drop production?").Open())
	require.True(t, ask(t, b, "c", "1", "Drop staging?").Open())
	require.True(t, ask(t, b, "c", "1", "Drop production?").Open(), "nobody has ended it but the agent")
}

// What a process left is left as a whole, in whatever order its successor asks for it.
func TestWhatWasLeftInAnotherOrder(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir(), hub.Options{})
	for _, text := range []string{"First?", "Second?"} {
		a := asking("c", text, text)
		a.Asker, a.Prompts = "dead", 1
		r, err := b.Ask(t.Context(), a)
		require.NoError(t, err)
		answer(t, b, r, "Yes", "phone")
	}
	b.Expire(later())
	for _, text := range []string{"Second?", "First?"} {
		require.False(t, askBy(t, b, "next", "new "+text, text).Open(), text)
	}
}

// Whoever saw one question under an id has not seen another one that was taken over since.
func TestARevisionIsOfOneQuestion(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir(), hub.Options{})
	askBy(t, b, "dead", "ask:0", "rm -rf /?")
	seen := askBy(t, b, "other", "ask:0", "ls?")
	b.Expire(later())
	require.True(t, askBy(t, b, "next", "ask:0", "rm -rf /?").Open())
	_, err := b.TakeBack(t.Context(), as(seen, "other"), convert.Outcome{Status: convert.Failed}, "")
	require.NoError(t, err)
	_, err = b.Answer(t.Context(), hub.Ref{Conversation: "c", ID: "ask:0", Revision: seen.Revision}, says("Yes"), "phone")
	require.ErrorIs(t, err, hub.ErrSettled)
}
