package hub_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// A request that was under way for long, through a hub that stood still, asks
// nothing new when its process has the outcome from elsewhere.
func TestALateRequestAsksNothingNew(t *testing.T) {
	t.Parallel()
	words := func(*hub.Record) ([]convert.Answer, error) { return []convert.Answer{{Text: "Yes"}}, nil }
	for name, end := range map[string]func(*hub.Board, hub.Ref) error{
		"consumed": func(b *hub.Board, ref hub.Ref) error {
			_, err := b.Answer(t.Context(), ref, words, "me")
			require.NoError(t, err)
			_, err = b.Consumed(t.Context(), ref)
			return err
		},
		"taken back": func(b *hub.Board, ref hub.Ref) error {
			_, err := b.TakeBack(t.Context(), ref, convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Text: "Yes"}}}, "me")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			board := open(t, dir, hub.Options{})
			ask := func(asker string) *hub.Record {
				a := asking("c", "q", "Go?")
				a.Asker = asker
				r, err := board.Ask(t.Context(), a)
				require.NoError(t, err)
				return r
			}
			r := ask("first")
			require.Equal(t, r.Revision, ask("resumed").Revision)
			require.NoError(t, end(board, r.Ref()))
			for _, asker := range []string{"first", "resumed"} {
				require.False(t, ask(asker).Open(), asker)
			}
			require.True(t, ask("another").Open())
			require.False(t, ask("first").Open(), "also when another process asks anew")
		})
	}
}

// An answer that was accepted here, and had its end elsewhere before, says why it came
// too late, in words for who gave it.
func TestTooLateSaysWhy(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		o  convert.Outcome
		by string
	}{
		"it was answered elsewhere before, by editor":                {convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Text: "No"}}}, "editor"},
		"it came too late: it was answered in the terminal":          {convert.Outcome{Status: convert.Failed, Reason: "it was answered in\nthe terminal"}, ""},
		"it came too late: it was no longer open where it was asked": {convert.Outcome{Status: convert.Cancelled}, ""},
	} {
		board := open(t, t.TempDir(), hub.Options{})
		r, err := board.Ask(t.Context(), asking("c", "q", "Go?"))
		require.NoError(t, err)
		_, err = board.Answer(t.Context(), r.Ref(), func(*hub.Record) ([]convert.Answer, error) { return []convert.Answer{{Text: "Yes"}}, nil }, "me")
		require.NoError(t, err)
		_, err = board.TakeBack(t.Context(), r.Ref(), c.o, c.by)
		require.ErrorIs(t, err, hub.ErrSettled)
		now, err := board.FindKey(t.Context(), r.Key())
		require.NoError(t, err)
		require.Equal(t, want, now.End.Undelivered)
		require.Equal(t, "Yes", now.End.Answers[0].Text)
	}
}
