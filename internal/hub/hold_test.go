package hub_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
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
	first, err := b.Ask(t.Context(), held("1", "Go?"))
	require.NoError(t, err)
	second, err := b.Ask(t.Context(), held("2", "Go?"))
	require.NoError(t, err)
	require.NotEqual(t, first.Key(), second.Key())
	require.Len(t, b.Held("", "c", "d"), 2)
	require.Empty(t, b.Held("", "c", "another"))
	plain := ask(t, b, "c", "3", "Go?")
	require.NotEqual(t, first.Key(), plain.Key())
	answer(t, b, first, "Yes", "phone")
	require.Len(t, b.Held("", "c", "d"), 2, "nobody knows whether it was used")
	_, err = b.Consumed(t.Context(), ref(first))
	require.NoError(t, err)
	require.Len(t, b.Held("", "c", "d"), 1)
}

// A hub that was killed comes back: what its connections asked is taken back, and an
// answer that it had not handed over says so.
func TestHeldEndsWithItsHub(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store, err := hubstore.Open(t.Context(), hubstore.Options{Dir: dir})
	require.NoError(t, err)
	b, err := hub.Open(t.Context(), store, hub.Options{})
	require.NoError(t, err)
	first, err := b.Ask(t.Context(), held("1", "Go?"))
	require.NoError(t, err)
	second, err := b.Ask(t.Context(), held("2", "Go on?"))
	require.NoError(t, err)
	plain := ask(t, b, "c", "3", "Stop?")
	answer(t, b, second, "Yes", "phone")
	b.Close()
	store.Close()

	b = open(t, dir, hub.Options{})
	now, err := b.Find("c", first.ID)
	require.NoError(t, err)
	require.Equal(t, "disconnected", now.End.Outcome)
	require.Empty(t, now.End.By, "nobody has said so")
	now, err = b.Find("c", second.ID)
	require.NoError(t, err)
	require.Equal(t, "undeliverable", now.End.Receipt())
	now, err = b.Find("c", plain.ID)
	require.NoError(t, err)
	require.True(t, now.Open(), "others come again")
}

// With several hubs it ends when the one that held it is gone for a while.
func TestHeldEndsWithItsLease(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir(), hub.Options{Lease: 20 * time.Millisecond})
	r, err := b.Ask(t.Context(), held("1", "Go?"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { now, err := b.Find("c", r.ID); return err == nil && !now.Open() }, patience, time.Millisecond)
}
