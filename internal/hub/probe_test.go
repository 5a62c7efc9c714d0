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
	t.Parallel()
	store, err := hubstore.Open(t.Context(), hubstore.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	b, err := Open(t.Context(), store, Options{Lease: 40 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(b.Close)
	probes := func(mark func(context.Context) (uint64, error)) (begin func()) { // when the test says so
		gate := make(chan struct{})
		b.mu.Lock()
		defer b.mu.Unlock()
		b.mark = func(ctx context.Context) (uint64, error) {
			select {
			case <-gate:
				return mark(ctx)
			case <-t.Context().Done():
				return 0, t.Context().Err()
			}
		}
		return func() { close(gate) }
	}
	healed := probes(store.Mark)
	b.refused(true)
	require.NoError(t, b.Ready(), "that was too large")
	b.refused(false)
	require.ErrorIs(t, b.Ready(), errStore)
	healed()
	require.Eventually(t, func() bool { return b.Ready() == nil }, time.Minute, time.Millisecond, "a probe heals it")

	b.refused(false)
	_, err = b.Ask(t.Context(), askingOf("bot", "a", ""))
	require.NoError(t, err)
	require.NoError(t, b.Ready(), "and so does a write")

	full := probes(func(context.Context) (uint64, error) { return 0, errors.New("no space left on device") })
	b.refused(false)
	require.ErrorIs(t, b.Ready(), errStore)
	full()
	select {
	case <-b.Done():
	case <-time.After(time.Minute):
		t.Fatal("the hub goes on")
	}
	require.Error(t, b.Ready())
}
