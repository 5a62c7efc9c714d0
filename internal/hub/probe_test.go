package hub

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

// A store that takes nothing any more makes the hub not ready, and then end. One that
// takes something again is ready.
func TestAStoreThatRefuses(t *testing.T) {
	store, err := hubstore.Open(t.Context(), hubstore.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	b, err := Open(t.Context(), store, Options{Lease: 40 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(b.Close)
	b.refused(true)
	require.NoError(t, b.Ready(), "that was too large")
	b.refused(false)
	require.ErrorIs(t, b.Ready(), errStore)
	require.Eventually(t, func() bool { return b.Ready() == nil }, time.Minute, time.Millisecond, "a probe heals it")

	b.refused(false)
	_, err = b.Ask(t.Context(), askingOf("bot", "a", ""))
	require.NoError(t, err)
	require.NoError(t, b.Ready(), "and so does a write")

	b.mu.Lock()
	b.mark = func(context.Context) (uint64, error) { return 0, errors.New("no space left on device") }
	b.mu.Unlock()
	b.refused(false)
	require.ErrorIs(t, b.Ready(), errStore)
	select {
	case <-b.Done():
	case <-time.After(time.Minute):
		t.Fatal("the hub goes on")
	}
	require.Error(t, b.Ready())
}
