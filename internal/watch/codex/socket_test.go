package codex

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// A connection that has ended has no replies: whoever waits for one, or asks since, is
// told at once.
func TestNoReplies(t *testing.T) {
	c := &client{pending: map[int]func(gjson.Result, bool){}}
	waited := make(chan bool, 1)
	c.pending[1] = func(_ gjson.Result, ok bool) { waited <- ok }
	c.abandon()
	require.False(t, <-waited)
	require.ErrorIs(t, acptest.Err(c.call(t.Context(), "thread/list", nil)), errEnded)
}

// What the terminal has answered is answered: nothing is said to it any more.
func TestNothingIsSaidToWhatIsResolved(t *testing.T) {
	r, o := &run{Queue: proc.NewQueue[gjson.Result]()}, &opened{}
	require.True(t, r.mark(o, true))
	require.True(t, r.told(o))
	o = &opened{end: true}
	require.False(t, r.mark(o, true))
	require.False(t, r.told(o))
}
