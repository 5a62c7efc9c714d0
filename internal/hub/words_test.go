package hub_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/paralleltest"
)

// What an agent asks in the words of before is another question once it has the
// answer, at every hub: none takes it for what it has not seen the end of.
func TestTheSameWordsAtAnotherHub(t *testing.T) {
	t.Parallel()
	left, right := elsewhere(t, hub.Options{})
	boards := []*hub.Board{left, right}
	for _, id := range []string{"", "with"} {
		for i := range paralleltest.Often(100) {
			one, two := boards[i%2], boards[(i+1)%2]
			next := func(n int) hub.Asking {
				a := asking(fmt.Sprint("words", id, i), "", "Go?")
				if id != "" {
					a.Call.ID = fmt.Sprint(id, n)
				}
				return a
			}
			first, err := one.Ask(t.Context(), next(1))
			require.NoError(t, err)
			same, err := two.Ask(t.Context(), next(1))
			require.NoError(t, err)
			require.Equal(t, first.Key(), same.Key(), "who asks again elsewhere asks the same")
			words := func(*hub.Record) ([]convert.Answer, error) { return []convert.Answer{{Text: "Yes"}}, nil }
			_, err = one.Answer(t.Context(), first.Ref(), words, "me")
			require.NoError(t, err)
			_, err = one.Delivered(t.Context(), first.Ref())
			require.NoError(t, err)
			second, err := two.Ask(t.Context(), next(2))
			require.NoError(t, err)
			require.NotEqual(t, first.Key(), second.Key())
			require.True(t, second.Open())
		}
	}
}

// Calls without an id that ask the same at two hubs at once are one question.
func TestTheSameWordsAtTwoHubsAtOnce(t *testing.T) {
	t.Parallel()
	left, right := elsewhere(t, hub.Options{})
	boards := []*hub.Board{left, right}
	for i := range paralleltest.Often(100) {
		conversation := fmt.Sprint("once", i)
		keys := make(chan string, 2)
		for _, b := range boards {
			go func() {
				r, err := b.Ask(t.Context(), asking(conversation, "", "Go?"))
				if err != nil {
					keys <- err.Error()
					return
				}
				keys <- r.Key()
			}()
		}
		require.Equal(t, <-keys, <-keys)
		// And so is each one after that.
		for n := range 3 {
			_, err := boards[n%2].Cancel(t.Context(), hub.Ref{Conversation: conversation}, "me")
			require.NoError(t, err)
			ended, err := boards[n%2].Find(conversation, "")
			require.NoError(t, err)
			_, err = boards[n%2].Delivered(t.Context(), ended.Ref())
			require.NoError(t, err)
			next, err := boards[(n+1)%2].Ask(t.Context(), asking(conversation, "", "Go?"))
			require.NoError(t, err)
			require.True(t, next.Open())
		}
	}
}
