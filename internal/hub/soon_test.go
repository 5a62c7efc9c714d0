package hub_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// An outcome that is consumed at once is one write, and one that is not is noted as
// delivered: a moment later, or when the board closes.
func TestDeliveredSoon(t *testing.T) {
	b, store := openWithStore(t, t.TempDir(), hub.Options{})
	given := func(id string) (answered *hub.Record, ref hub.Ref) {
		t.Helper()
		a := asking("c", id, "Go?")
		a.Asker = "bridge"
		r, err := b.Ask(t.Context(), a)
		require.NoError(t, err)
		answered = answer(t, b, r, "Yes", "phone")
		ref = answered.Ref()
		ref.Asker = "bridge"
		b.DeliveredSoon(t.Context(), ref)
		return answered, ref
	}
	find := func(id string) *hub.Record {
		t.Helper()
		r, err := b.Find("c", id)
		require.NoError(t, err)
		return r
	}
	given("left")
	require.Eventually(t, func() bool { return find("left").End.Receipt() == "delivered" }, time.Minute, time.Millisecond)
	require.Equal(t, "bridge", find("left").End.Taker)

	b.DeliverAfter(time.Hour)
	answered, ref := given("used")
	for i := range 5 { // meanwhile others write
		answer(t, b, ask(t, b, "others", fmt.Sprint(i), "Stop?"), "Yes", "phone")
	}
	require.Equal(t, answered.Revision, find("used").Revision)
	used, err := b.Consumed(t.Context(), ref)
	require.NoError(t, err)
	given("closing")
	b.Close()
	b, err = hub.Open(t.Context(), store, hub.Options{})
	require.NoError(t, err)
	t.Cleanup(b.Close)
	require.Equal(t, "delivered", find("closing").End.Receipt(), "before the hour was over")
	require.Equal(t, used.Revision, find("used").Revision, "there was nothing to note")
}

// An outcome that its asker has is nobody else's, also while that is not noted yet and the asker
// is gone: what is asked in the same words is another question.
func TestWhatWasHandedOverIsNotTakenOver(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir(), hub.Options{Lease: time.Hour})
	b.DeliverAfter(time.Hour)
	asks := func(conversation, id, asker string) *hub.Record {
		t.Helper()
		a := asking(conversation, id, "Go?")
		a.Asker = asker
		r, err := b.Ask(t.Context(), a)
		require.NoError(t, err)
		return r
	}
	first := asks("c", "one", "before")
	answered := answer(t, b, first, "Yes", "phone")
	require.Equal(t, answered.Key(), asks("c", "two", "after").Key(), "nobody has it")

	first = asks("d", "one", "before")
	answered = answer(t, b, first, "Yes", "phone")
	ref := answered.Ref()
	ref.Asker = "before"
	mine, err := b.Take(t.Context(), answered, ref)
	require.NoError(t, err)
	require.True(t, mine)
	b.DeliveredSoon(t.Context(), ref)
	require.Equal(t, "accepted", answered.End.Receipt())
	require.True(t, asks("d", "two", "after").Open())
	require.Equal(t, answered.Key(), asks("d", "one", "before").Key(), "who asked it may ask again")
}
