package hub_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// as is a question's name, as a process says it.
func as(r *hub.Record, asker string) hub.Ref {
	ref := r.Ref()
	ref.Asker = asker
	return ref
}

// Of several processes that have taken a session up again one hands the outcome to the
// agent. Nobody else may while it is at it; when it has not been heard of for a lease,
// the next one may.
func TestClaim(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, store := openWithStore(t, dir, hub.Options{Lease: time.Hour})
	a := asking("c", "q", "Go on?")
	a.Asker = "dead"
	asked, err := b.Ask(t.Context(), a)
	require.NoError(t, err)
	_, err = b.Claim(t.Context(), as(asked, "a"))
	require.ErrorIs(t, err, hub.ErrNotFound, "it is open")
	answer(t, b, asked, "Yes", "phone")

	var won atomic.Int32
	var taker atomic.Value
	var all sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d"} {
		all.Go(func() {
			switch _, err := b.Claim(t.Context(), as(asked, name)); {
			case err == nil:
				won.Add(1)
				taker.Store(name)
			case !errors.Is(err, hub.ErrNotAsker):
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, won.Load())
	mine := taker.Load().(string)
	_, err = b.Claim(t.Context(), as(asked, mine))
	require.NoError(t, err, "it is at it still")
	a.Asker = "late"
	other, err := b.Ask(t.Context(), a)
	require.NoError(t, err)
	require.True(t, other.Open(), "the outcome goes to one of them")
	_, err = b.Cancel(t.Context(), other.Ref(), "phone")
	require.NoError(t, err)
	b.Close()
	store.Close()

	b = open(t, dir, hub.Options{Lease: time.Millisecond})
	for err = hub.ErrNotAsker; errors.Is(err, hub.ErrNotAsker); { // the one before has died with it
		_, err = b.Claim(t.Context(), as(asked, "next"))
	}
	require.NoError(t, err)
	_, err = b.Consumed(t.Context(), as(asked, "next"))
	require.NoError(t, err)
	_, err = b.Claim(t.Context(), as(asked, mine))
	require.ErrorIs(t, err, hub.ErrSettled, "it was used")
}
