package hub_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// What is past is kept as long as anything that is over, and then it is gone: its
// conversation, too.
func TestWhatIsPastIsKept(t *testing.T) {
	t.Parallel()
	b := pastBoard(t)
	a := asking("done", "q", "Go?")
	a.Device = "bot"
	r, err := b.Ask(t.Context(), a)
	require.NoError(t, err)
	_, err = b.Cancel(t.Context(), r.Ref(), "phone")
	require.NoError(t, err)
	_, err = b.Consumed(t.Context(), r.Ref())
	require.NoError(t, err)
	b.Expire(later())
	require.Equal(t, 4, b.SettleDown(later()), "all that is over but what nobody has")

	// It is found by whoever asked it, without its id too, and by nobody else.
	for device, found := range map[string]bool{"": true, "bot": true, "another": false} {
		got, err := b.FindRef(hub.Ref{Conversation: "done", Device: device})
		if found {
			require.NoError(t, err)
			require.Equal(t, "q", got.ID)
		} else {
			require.ErrorIs(t, err, hub.ErrNotFound)
		}
	}
	require.Equal(t, []string{""}, b.Groups("done"))
	require.Empty(t, b.Groups("never"))

	b.Tidy(time.Now().Add(29 * 24 * time.Hour))
	for _, id := range []string{"q0", "q1", "q2", "q3", "q4"} {
		_, err := b.Find("c", id)
		require.NoError(t, err, id)
	}
	b.Tidy(time.Now().Add(31 * 24 * time.Hour))
	require.Eventually(t, func() bool {
		for _, id := range []string{"q0", "q1", "q2", "q3"} {
			if _, err := b.Find("c", id); err == nil {
				return false
			}
		}
		_, err := b.Find("done", "")
		return err != nil
	}, time.Minute, time.Millisecond)
	_, err = b.Find("c", "q4")
	require.NoError(t, err, "what is open stays")
	require.Empty(t, b.Groups("done"))
}
