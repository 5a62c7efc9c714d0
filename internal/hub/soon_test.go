package hub_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// An outcome that is consumed at once is one write, and one that is not is noted as
// delivered: a moment later, or when the board closes.
func TestDeliveredSoon(t *testing.T) {
	dir := t.TempDir()
	b, store := openWithStore(t, dir, hub.Options{})
	given := func(id string) (*hub.Record, hub.Ref) {
		t.Helper()
		a := asking("c", id, "Go?")
		a.Asker = "bridge"
		r, err := b.Ask(t.Context(), a)
		require.NoError(t, err)
		ref := answer(t, b, r, "Yes", "phone").Ref()
		ref.Asker = "bridge"
		b.DeliveredSoon(t.Context(), ref)
		return r, ref
	}
	receipt := func(id, want string) *hub.Record {
		t.Helper()
		var r *hub.Record
		require.Eventually(t, func() (ok bool) {
			r, _ = b.Find("c", id)
			return r.End.Receipt() == want
		}, time.Minute, time.Millisecond)
		return r
	}
	_, _ = given("left")
	require.Equal(t, "bridge", receipt("left", "delivered").End.Taker)

	_, ref := given("used")
	used, err := b.Consumed(t.Context(), ref)
	require.NoError(t, err)
	_, _ = given("later")
	receipt("later", "delivered") // and so the moment of the one before is over
	require.Equal(t, used.Revision, receipt("used", "consumed").Revision, "it was written once")

	_, _ = given("closing")
	b.Close()
	b, err = hub.Open(t.Context(), store, hub.Options{})
	require.NoError(t, err)
	t.Cleanup(b.Close)
	receipt("closing", "delivered")
}
