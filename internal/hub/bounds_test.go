package hub

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

func openBounded(t *testing.T, o Options) *Board {
	t.Helper()
	store := acptest.Must(hubstore.Open(t.Context(), hubstore.Options{Dir: t.TempDir()}))
	t.Cleanup(store.Close)
	b := acptest.Must(Open(t.Context(), store, o))
	t.Cleanup(b.Close)
	return b
}

func askingOf(device, id, asker string) Asking {
	return Asking{Conversation: "c", Device: device, Asker: asker, Name: id, Again: true, Call: convert.Call{ID: id, Questions: []convert.Question{{Text: "Go on?"}}}}
}

// other is an asking in other words.
func other(a Asking) Asking {
	a.Call.Questions = []convert.Question{{Text: "Go on with " + a.Call.ID + "?"}}
	return a
}

func sayYes(*Record) ([]convert.Answer, error) { return []convert.Answer{{Text: "Yes"}}, nil }

// A device has so much open and no more; that of others counts for itself, and what
// ended does not count.
func TestBoundsOfADevice(t *testing.T) {
	t.Parallel()
	b := openBounded(t, Options{})
	r := acptest.Must(b.Ask(t.Context(), askingOf("bot", "a", "")))
	require.Equal(t, load{open: 1, bytes: r.size}, b.loads["bot"])
	require.Positive(t, r.size)
	for _, full := range []load{{open: maxOpen}, {open: 1, bytes: maxBytes - 10}} {
		b.loads["bot"] = full
		_, err := b.Ask(t.Context(), other(askingOf("bot", "b", "p")))
		var bound *BoundError
		require.ErrorAs(t, err, &bound)
		require.Contains(t, bound.Error(), fmt.Sprint(bound.Limit))
		acptest.Must(b.Ask(t.Context(), other(askingOf("other", fmt.Sprint(full.open), "p"))))
		require.NoError(t, acptest.Err(b.Ask(t.Context(), askingOf("bot", "a", ""))), "that is there already")
	}
	b.loads["bot"] = load{open: 1, bytes: r.size}
	acptest.Must(b.Answer(t.Context(), r.Ref(), sayYes, "phone"))
	require.Zero(t, b.loads["bot"].open+b.loads["bot"].bytes)
}

// What was dropped leaves nothing behind.
func TestMarkersGo(t *testing.T) {
	t.Parallel()
	b := openBounded(t, Options{Keep: 20 * time.Millisecond})
	for i := range 5 {
		r := acptest.Must(b.Ask(t.Context(), askingOf("bot", fmt.Sprint(i), "")))
		acptest.Must(b.Answer(t.Context(), r.Ref(), sayYes, "phone"))
		acptest.Must(b.Consumed(t.Context(), r.Ref()))
	}
	require.Eventually(t, func() bool {
		e, err := b.store.Engine(t.Context())
		b.mu.Lock()
		defer b.mu.Unlock()
		return err == nil && e.Values == 1 && // the mark
			len(b.records) == 0 && len(b.markers) == 0
	}, time.Minute, 5*time.Millisecond)
	e := acptest.Must(b.store.Engine(t.Context()))
	require.Equal(t, hubstore.Engine{Embedded: true, Replicas: 1, Values: 1, Bytes: e.Bytes}, e)
	b.step(func(s *state) { s.markers["a.0"] = marker{1, time.Now().Add(time.Hour)} })
	b.dropMarkers(t.Context(), time.Now())
	require.Equal(t, 1, peek(b, func(s *state) int { return len(s.markers) }), "others may not know of it yet")
}

// An asker is gone when it was silent for a lease in which the hub listened. A hub that
// stood still, as a machine does that sleeps, has not listened.
func TestAHubThatStoodStill(t *testing.T) {
	t.Parallel()
	b := openBounded(t, Options{Lease: time.Hour})
	acptest.Must(b.Ask(t.Context(), askingOf("bot", "a", "p")))
	gone := func() bool { return acptest.Must(b.Find("c", "a")).Gone }
	woke := time.Now().Add(8 * time.Hour)
	b.attend(woke, woke.Add(-8*time.Hour))
	require.False(t, gone())
	later := woke.Add(time.Hour + time.Minute)
	b.attend(later, later.Add(-2*time.Second))
	require.True(t, gone())
	successor := askingOf("bot", "a", "q")
	successor.Name = "b"
	acptest.Must(b.Ask(t.Context(), successor))
	require.False(t, gone(), "its successor is there")
}

// A successor begins anew with what its predecessor had, and people have seen it since the first.
func TestOwnedBy(t *testing.T) {
	now := time.Now()
	r := &Record{ID: "id", Asker: "p", Revision: 7, End: &End{Outcome: "answered", By: "phone", Taken: now, Claimed: now, Delivered: now, Unsure: "its agent is gone"}}
	require.Equal(t, &Record{ID: "id", Asker: "q", As: "new", Revision: 7, End: &End{Outcome: "answered", By: "phone"}}, r.ownedBy("q", "new"))
	r.End = nil
	next := r.ownedBy("q", "id")
	require.Equal(t, &Record{ID: "id", Asker: "q", Shown: []uint64{7}, Revision: 7}, next)
	next.Revision = 9
	require.Equal(t, &Record{ID: "id", Asker: "r", Shown: []uint64{7, 9}, Revision: 9}, next.ownedBy("r", "id"))
}
