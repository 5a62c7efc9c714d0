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
