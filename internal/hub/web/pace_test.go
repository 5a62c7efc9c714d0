package web

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Streams rest while they look often, and no longer when they do not.
func TestPace(t *testing.T) {
	var p pace
	now := time.Unix(1000, 0)
	tell := func(times int, every time.Duration) (rests int) {
		for range times {
			if now = now.Add(every); p.busy(now) {
				rests++
			}
		}
		return rests
	}
	require.Zero(t, tell(1000, time.Millisecond), "one stream with many changes")
	require.NotZero(t, tell(3000, 100*time.Microsecond), "many of both")
	require.Equal(t, 1000, tell(1000, 100*time.Microsecond), "it goes on")
	now = now.Add(time.Minute)
	require.Zero(t, tell(1000, time.Millisecond), "later")
	now = now.Add(time.Minute)
	require.Zero(t, tell(most, 0), "not yet")
	require.Equal(t, 1, tell(1, 0), "many at one moment")
}
