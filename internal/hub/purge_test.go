package hub_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// What a newer hub wrote stays in the store, also if it is older than what is archived.
func TestPurgeLeavesWhatANewerHubWrote(t *testing.T) {
	t.Parallel()
	b, store := openWithStore(t, t.TempDir(), hub.Options{})
	used(t, b, "c", "before", "Go?")
	newer := hub.KeyOf("c", "newer")
	_, err := store.Create(t.Context(), newer, []byte(`{"version":99,"conversation":"c","id":"newer"}`))
	require.NoError(t, err)
	after := used(t, b, "c", "after", "Go?")
	require.Equal(t, 2, b.SettleDown(later()))
	require.ElementsMatch(t, []string{newer, after.Key()}, recordKeys(t, store))
	b.LeaveAtMost(0)
	require.Equal(t, 2, b.SettleDown(later()))
	require.Equal(t, []string{newer}, recordKeys(t, store))
}

// That a question was removed stays in the store until all hubs know it.
func TestPurgeLeavesMarkers(t *testing.T) {
	t.Parallel()
	b, store := openWithStore(t, t.TempDir(), hub.Options{})
	removed := used(t, b, "c", "removed", "Go?")
	require.NoError(t, store.Delete(t.Context(), removed.Key(), removed.Revision))
	used(t, b, "c", "q", "Go?")
	require.Equal(t, 1, b.SettleDown(later()))
	_, err := store.Last(t.Context(), removed.Key())
	require.NoError(t, err, "a hub that is behind is told")
	b.Tidy(time.Now().Add(2 * time.Hour))
	require.Equal(t, 1, b.SettleDown(later()))
	require.Empty(t, recordKeys(t, store))
}

// Listings are not among what is purged: that one was removed, or cannot be read, keeps
// nothing in the store.
func TestPurgeIsNotHeldUpByListings(t *testing.T) {
	t.Parallel()
	b, store := openWithStore(t, t.TempDir(), hub.Options{})
	used(t, b, "c", "first", "Go?")
	require.Equal(t, 1, b.SettleDown(later()))
	b.Tidy(time.Now().Add(365 * 24 * time.Hour))
	require.Empty(t, b.Settled("", 10))
	listing, err := store.Create(t.Context(), "volumes.7", []byte(`{"version":99999999,"value":"newer"}`))
	require.NoError(t, err)
	require.NoError(t, store.Delete(t.Context(), "volumes.7", listing))
	_, err = store.Create(t.Context(), "volumes.8", []byte(`{"version":99999999,"value":"newer"}`))
	require.NoError(t, err)
	used(t, b, "c", "second", "Go?")
	require.Equal(t, 1, b.SettleDown(later()))
	require.Empty(t, recordKeys(t, store))
}
