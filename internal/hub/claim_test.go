package hub_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
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
	asked := acptest.Must(b.Ask(t.Context(), a))
	_, err := b.Claim(t.Context(), as(asked, "a"))
	require.ErrorIs(t, err, hub.ErrNotFound, "it is open")
	answer(t, b, asked, "Yes", "phone")
	b.Expire(time.Now().Add(2 * time.Hour))

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
	other := acptest.Must(b.Ask(t.Context(), a))
	require.True(t, other.Open(), "the outcome goes to one of them")
	acptest.Must(b.Cancel(t.Context(), other.Ref(), "phone"))
	b = reopened(t, b, store, dir, hub.Options{Lease: time.Millisecond})
	for err = hub.ErrNotAsker; errors.Is(err, hub.ErrNotAsker); { // the one before has died with it
		_, err = b.Claim(t.Context(), as(asked, "next"))
	}
	require.NoError(t, err)
	acptest.Must(b.Consumed(t.Context(), as(asked, "next")))
	require.ErrorIs(t, acptest.Err(b.Claim(t.Context(), as(asked, mine))), hub.ErrSettled, "it was used")
}

// An outcome that is consumed at once is one write, and one that is not is noted as
// delivered: a moment later, or when the board closes.
func TestDeliveredSoon(t *testing.T) {
	b, store := openWithStore(t, t.TempDir(), hub.Options{})
	given := func(id string) (answered *hub.Record, ref hub.Ref) {
		t.Helper()
		answered = answer(t, b, askBy(t, b, "bridge", id, "Go?"), "Yes", "phone")
		ref = as(answered, "bridge")
		b.DeliveredSoon(t.Context(), ref)
		return answered, ref
	}
	find := func(id string) *hub.Record {
		t.Helper()
		return acptest.Must(b.Find("c", id))
	}
	given("left")
	require.Eventually(t, func() bool { return find("left").End.Receipt() == "delivered" }, time.Minute, time.Millisecond)
	require.Equal(t, "bridge", find("left").Asker)

	b.DeliverAfter(time.Hour)
	answered, ref := given("used")
	for i := range 5 { // meanwhile others write
		answer(t, b, ask(t, b, "others", fmt.Sprint(i), "Stop?"), "Yes", "phone")
	}
	require.Equal(t, answered.Revision, find("used").Revision)
	used := acptest.Must(b.Consumed(t.Context(), ref))
	given("closing")
	b.Close()
	b = acptest.Must(hub.Open(t.Context(), store, hub.Options{}))
	t.Cleanup(b.Close)
	require.Equal(t, "delivered", find("closing").End.Receipt(), "before the hour was over")
	require.Equal(t, used.Revision, find("used").Revision, "there was nothing to note")
}
