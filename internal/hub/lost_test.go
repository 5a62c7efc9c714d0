package hub_test

import (
	"testing"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

// A store in which nothing was ever asked has lost nothing.
func TestNothingAskedIsNothingLost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 {
		store := acptest.Must(hubstore.Open(t.Context(), hubstore.Options{Dir: dir, Report: func(problem string) { t.Error(problem) }}))
		acptest.Must(hub.Open(t.Context(), store, hub.Options{})).Close()
		store.Close()
	}
}
