package web

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Streams rest while they look often, and no longer when they do not. They rest from
// everything only while they come late to what somebody waits for.
func TestPace(t *testing.T) {
	var p pace
	now := time.Unix(1000, 0)
	looks := func(times int, every, late time.Duration) (how [3]int) {
		for range times {
			now = now.Add(every)
			how[p.look(now, late)]++
		}
		return how
	}
	require.Equal(t, [3]int{calm: 1000}, looks(1000, time.Millisecond, time.Second), "one stream with many changes, however late")
	how := looks(3000, 100*time.Microsecond, lateTime/2)
	require.Positive(t, how[busy], "many of both")
	require.Zero(t, how[behind])
	require.Equal(t, [3]int{busy: 1000}, looks(1000, 100*time.Microsecond, lateTime/2), "it goes on")
	looks(2000, 100*time.Microsecond, 2*lateTime)
	require.Equal(t, [3]int{behind: 1000}, looks(1000, 100*time.Microsecond, 2*lateTime), "and late")
	require.Equal(t, [3]int{behind: 100}, looks(100, time.Millisecond, 0), "while all rest, they look seldom")
	looks(1000, 100*time.Microsecond, 0)
	looks(1, behindTime, 0)
	looks(2000, 100*time.Microsecond, 0)
	require.Equal(t, [3]int{busy: 1000}, looks(1000, 100*time.Microsecond, 0), "no longer late")
	now = now.Add(time.Minute)
	require.Equal(t, [3]int{calm: 1000}, looks(1000, time.Millisecond, 0), "later")
	now = now.Add(time.Minute)
	require.Equal(t, [3]int{calm: most, busy: 1}, looks(most+1, 0, 0), "many at one moment")
}
