package hubstore

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// What a write has returned for is on the disk, also if the machine loses its
// power at that moment.
func TestEveryWriteIsFlushed(t *testing.T) {
	require.True(t, openEmbedded(t).server.JetStreamConfig().SyncAlways)
}

// A key that would be another one in a subject is refused, whatever goes together.
func TestOddKeysAreNotJoined(t *testing.T) {
	s := openEmbedded(t)
	release := s.Hold()
	for _, key := range []string{"", "a b", "a.*", "a.>", ".a", "a."} {
		require.Error(t, acptest.Err(s.Create(t.Context(), key, []byte("1"))), key)
	}
	require.Zero(t, s.Queued())
	release()
}

// Values beside others are kept for the time that was said.
func TestBesideForATime(t *testing.T) {
	s := openEmbedded(t)
	for keep, suffix := range map[time.Duration]string{0: "-ever", time.Hour: "-hour"} {
		other := acptest.Must(s.Beside(t.Context(), suffix, "some", keep))
		require.Equal(t, keep, acptest.Must(other.kv.Status(t.Context())).TTL())
	}
}

// A value may be as long as the limit, and no longer. The bucket may have one of
// its own.
func TestLimit(t *testing.T) {
	t.Parallel()
	s := openEmbedded(t)
	for _, most := range []int{0, 4096, 100 * maxValue} {
		s.most = most
		limit := s.Limit()
		if most == 4096 {
			require.Equal(t, most-headRoom, limit)
		} else {
			require.Equal(t, maxValue-headRoom, limit)
		}
		revision := acptest.Must(s.Create(t.Context(), "a", make([]byte, limit)))
		require.ErrorIs(t, acptest.Err(s.Update(t.Context(), "a", make([]byte, limit+1), revision)), ErrTooLarge)
		require.ErrorIs(t, s.Delete(t.Context(), "a", revision+1), ErrConflict)
		require.NoError(t, s.Delete(t.Context(), "a", revision))
	}
}

// Two may tell of the same change: it is told once, and never after a later one.
func TestAChangeIsToldOnce(t *testing.T) {
	s := openEmbedded(t)
	var told []uint64
	w := watch{Store: s, f: func(e Entry) { told = append(told, e.Revision) }}
	for _, revision := range []uint64{3, 3, 2, 4, 1, 4} {
		w.tell(s.subjectOf("a"), nats.Header{}, nil, revision)
	}
	require.Equal(t, []uint64{3, 4}, told)
}

// A reply that counts less than was sent is no success.
func TestAReplyToHalfABatch(t *testing.T) {
	s := openEmbedded(t)
	require.NoError(t, s.js.DeleteStream(t.Context(), s.stream()))
	sub := acptest.Must(s.conn.Subscribe(s.subjectOf(">"), func(m *nats.Msg) { // in its place
		if m.Reply != "" {
			_ = m.Respond([]byte(`{"stream":"KV_questions","seq":9,"batch":"x","count":1}`)) // or the test sees nothing
		}
	}))
	defer func() { _ = sub.Unsubscribe() }()
	require.ErrorContains(t, acptest.Err(s.publish([]*joined{{write: write{key: "a"}}, {write: write{key: "b"}}}, attemptTime)), "expected 2 writes, got 1")
	require.EqualValues(t, 9, acptest.Must(s.publish([]*joined{{write: write{key: "a"}}}, attemptTime)))
}

// Servers are named without what stands before an @, however little that is.
func TestServersAreNamedWithoutPasswords(t *testing.T) {
	for urls, want := range map[string]string{
		"a:1,b:2": "a:1,b:2", "u:secret@a:1": "a:1", "@a:1": "a:1", "nats://u:p@ss@a:1,nats://u:p@b:2": "a:1,b:2", "u:sec,ret@a:1": "a:1",
	} {
		require.Equal(t, want, strings.ReplaceAll(hostsOf(urls), ", ", ","), urls)
	}
}
