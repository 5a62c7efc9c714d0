package hub_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

func held(id, text string) hub.Asking {
	a := asking("c", id, text)
	a.Device, a.Asker, a.Hold = "d", "asker-"+id, &hub.Hold{Call: "toolu_" + id}
	return a
}

// What belongs to a connection is never taken for something else with the same words,
// and nobody takes it over.
func TestHeldIsItself(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir(), hub.Options{Lease: time.Hour})
	first := acptest.Must(b.Ask(t.Context(), held("1", "Go?")))
	second := acptest.Must(b.Ask(t.Context(), held("2", "Go?")))
	require.NotEqual(t, first.Key(), second.Key())
	require.Len(t, b.Held("", "c", "d"), 2)
	require.Empty(t, b.Held("", "c", "another"))
	a := held("3", "Go?")
	a.Hold = nil
	plain := acptest.Must(b.Ask(t.Context(), a))
	require.NotEqual(t, first.Key(), plain.Key())
	answer(t, b, first, "Yes", "phone")
	require.Len(t, b.Held("", "c", "d"), 2, "nobody knows whether it was used")
	acptest.Must(b.Consumed(t.Context(), ref(first)))
	require.Len(t, b.Held("", "c", "d"), 1)
}

// A hub that was killed comes back: what processes hold waits for them, and they find it under
// the name that they gave it, open or with the answer that they never had. Nobody else does.
func TestHeldOutlivesItsHub(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, store := openWithStore(t, dir, hub.Options{})
	first := acptest.Must(b.Ask(t.Context(), held("1", "Go?")))
	second := acptest.Must(b.Ask(t.Context(), held("2", "Go on?")))
	third := acptest.Must(b.Ask(t.Context(), held("3", "Stop?")))
	answer(t, b, second, "Yes", "phone")
	acptest.Must(b.TakeBack(t.Context(), ref(third), convert.Outcome{Status: convert.Answered}, "the terminal"))
	b = reopened(t, b, store, dir, hub.Options{})
	now := acptest.Must(b.Find("c", first.ID))
	require.True(t, now.Open(), "it waits")
	for _, r := range []*hub.Record{first, second, third} {
		again := acptest.Must(b.Ask(t.Context(), held(r.ID, r.Call.Questions[0].Text)))
		require.Equal(t, r.Key(), again.Key())
		other := held(r.ID, r.Call.Questions[0].Text)
		other.Asker = "another"
		another := acptest.Must(b.Ask(t.Context(), other))
		require.NotEqual(t, r.Key(), another.Key(), "another process has another question")
	}
	now = acptest.Must(b.Find("c", second.ID))
	require.True(t, now.Open() || now.End.By == "phone")
}

// What nobody comes for within a lease is left to the terminal: it may be open there. When its
// process is back, it is asked anew.
func TestHeldOutOfSight(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir(), hub.Options{Lease: 20 * time.Millisecond})
	r := acptest.Must(b.Ask(t.Context(), held("1", "Go?")))
	require.Eventually(t, func() bool {
		now, err := b.Find("c", r.ID)
		return err == nil && !now.Open() && now.End.Left()
	}, patience, time.Millisecond)
	again := acptest.Must(b.Ask(t.Context(), held("1", "Go?")))
	require.NotEqual(t, r.Key(), again.Key())
	require.True(t, again.Open())
}

// An answer is of no use then, also one that came just when the question was about to be left.
func TestHeldIsAnsweredOutOfSight(t *testing.T) {
	t.Parallel()
	for _, expired := range []bool{true, false} {
		b := open(t, t.TempDir(), hub.Options{Lease: time.Hour})
		r := acptest.Must(b.Ask(t.Context(), held("1", "Go?")))
		if expired {
			b.Expire(later())
		}
		answer(t, b, r, "Yes", "phone")
		b.Expire(later())
		b.EndGone()
		require.Equal(t, "undeliverable", acptest.Must(b.Find("c", r.ID)).End.Receipt())
		last := acptest.Must(b.Ask(t.Context(), held("1", "Go?")))
		require.NotEqual(t, r.Key(), last.Key(), "that was of no use")
	}
}
