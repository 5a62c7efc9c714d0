package hub_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

// A store in which nothing was ever asked has lost nothing.
func TestNothingAskedIsNothingLost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 {
		store, err := hubstore.Open(t.Context(), hubstore.Options{Dir: dir, Report: func(problem string) { t.Error(problem) }})
		require.NoError(t, err)
		b, err := hub.Open(t.Context(), store, hub.Options{})
		require.NoError(t, err)
		b.Close()
		store.Close()
	}
}
