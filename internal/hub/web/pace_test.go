package web

import (
	"bytes"
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Streams rest while they tell much, for as long as it is worth, and no longer when they do
// not. What they tell at once after a rest counts as what it would have been.
func TestPace(t *testing.T) {
	var p pace
	now := time.Unix(1000, 0)
	tell := func(times int, every time.Duration, changes int) map[time.Duration]int {
		rests := map[time.Duration]int{}
		for range times {
			now = now.Add(every)
			rests[p.rest(now, changes)]++
		}
		return rests
	}
	type rests = map[time.Duration]int
	require.Equal(t, rests{0: often, shortRest: often, longRest: 1}, tell(2*often+1, 0, 1), "many at one moment")
	require.Equal(t, rests{0: 9}, tell(9, 2*paceTime, 1), "a while later")
	require.Equal(t, rests{0: 1000}, tell(1000, time.Millisecond, 1), "one stream with many changes")
	tell(2000, 150*time.Microsecond, 1)
	require.Equal(t, rests{shortRest: 1000}, tell(1000, 150*time.Microsecond, 1), "many of both")
	tell(2000, 90*time.Microsecond, 1)
	require.Equal(t, rests{longRest: 1000}, tell(1000, 90*time.Microsecond, 1), "very many")
	require.Equal(t, rests{longRest: 200}, tell(200, 450*time.Microsecond, 5), "as many, told after a rest")
	now = now.Add(time.Minute)
	require.Equal(t, rests{0: 1000}, tell(1000, time.Millisecond, 1), "later")
}

// The more streams rest, the longer each does, so that they write no more often than a
// machine can. A rest ends with its stream.
func TestRestOfVeryManyStreams(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var p pace
	for others, want := range map[int64]time.Duration{0: shortRest, 199: shortRest, 999: 50 * time.Millisecond, 9_999: 500 * time.Millisecond} {
		p.sleeping.Store(others)
		require.Equal(t, want, p.sleep(ctx))
		require.Equal(t, others, p.sleeping.Load())
	}
}

// A stream has room for what it tells while it tells it, and none between.
func TestAStreamKeepsNoRoom(t *testing.T) {
	w := httptest.NewRecorder()
	out := stream{w: w}
	for _, size := range []int{1, maxChunk, 10 * maxChunk} {
		w.Body.Reset()
		text := bytes.Repeat([]byte("x"), size)
		out.Write(text)
		require.Equal(t, size >= maxChunk, out.full())
		require.NoError(t, out.flush())
		require.Equal(t, text, w.Body.Bytes())
		require.Nil(t, out.buf)
		require.LessOrEqual(t, buffers.Get().(*bytes.Buffer).Cap(), 4*maxChunk)
	}
	require.NoError(t, out.flush())
}
