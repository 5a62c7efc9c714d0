package hubstore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// holdFenced keeps fenced writes in the queue until what it returns is called.
func (s *Store) holdFenced() (release func()) {
	s.fence.Step(func() { s.fence.drains = true })
	return s.crossAll
}

func (s *Store) fencedQueue() (n int) {
	s.fence.Step(func() { n = len(s.fence.queue) })
	return n
}

func openShared(t *testing.T) *Store {
	t.Helper()
	s := openEmbedded(t)
	s.shared = true // others write, too
	return s
}

// Fenced writes of one moment are one batch. One that comes too late is in the way of
// none, and of two of the same key one is: it learns that without asking the server.
func TestFencedWritesTogether(t *testing.T) {
	t.Parallel()
	s := openShared(t)
	const n = 20
	var revisions [n]uint64
	key := func(i int) string { return fmt.Sprint("k", i) }
	for i := range n {
		revisions[i] = acptest.Must(s.Create(t.Context(), key(i), []byte("open")))
	}
	acptest.Must(s.Update(t.Context(), key(0), []byte("other"), revisions[0]))
	release := s.holdFenced()
	var all sync.WaitGroup
	var won [n]atomic.Int32
	answer := func(i int, value string) {
		all.Go(func() {
			got, err := s.UpdateWhile(t.Context(), key(i), []byte(value), revisions[i], nil)
			if err != nil {
				require.ErrorIs(t, err, ErrConflict)
				return
			}
			won[i].Add(1)
			e := acptest.Must(s.Last(t.Context(), key(i)))
			require.Equal(t, Entry{key(i), []byte(value), got}, e)
		})
	}
	for i := range n {
		answer(i, "answered")
	}
	require.Eventually(t, func() bool { return s.fencedQueue() == n }, time.Minute, time.Millisecond)
	answer(0, "late, too")
	answer(1, "second")
	began := time.Now()
	release()
	all.Wait()
	prompt := time.Since(began) < firstTime // or each of them is tried again by itself
	batches := map[string]bool{}
	require.Zero(t, won[0].Load(), "it came too late")
	for i := 1; i < n; i++ {
		require.EqualValues(t, 1, won[i].Load(), key(i))
		m := acptest.Must(s.direct.GetLastMsg(s.stream(), s.subjectOf(key(i))))
		batches[m.Header.Get("Nats-Batch-Id")] = true
	}
	require.True(t, len(batches) == 1 || !prompt, "%v", batches)
	require.Empty(t, s.fence.flying)
}

// A batch that a fence has overtaken is written by nobody who was not checked again.
func TestAFenceBeforeManyWrites(t *testing.T) {
	t.Parallel()
	s := openShared(t)
	const n = 5
	checks := make([]int, n)
	release := s.holdFenced()
	var all sync.WaitGroup
	for i := range n {
		revision := acptest.Must(s.Create(t.Context(), fmt.Sprint("k", i), []byte("open")))
		all.Go(func() {
			acptest.Must(s.UpdateWhile(t.Context(), fmt.Sprint("k", i), []byte("answered"), revision, func(context.Context) error {
				checks[i]++
				return nil
			}))
		})
	}
	require.Eventually(t, func() bool { return s.fencedQueue() == n }, time.Minute, time.Millisecond)
	require.NoError(t, s.Fence(t.Context()))
	release()
	all.Wait()
	for _, c := range checks {
		require.Greater(t, c, 1)
	}
}

// A fenced write whose caller has given up is not made later, if it was not sent, and
// holds up none of its key.
func TestAFencedWriteIsTakenOutOfTheQueue(t *testing.T) {
	t.Parallel()
	s := openShared(t)
	first := acptest.Must(s.Create(t.Context(), "k", []byte("open")))
	release := s.holdFenced()
	ctx, cancel := context.WithCancel(t.Context())
	gone, next := make(chan error, 1), make(chan error, 1)
	go func() { gone <- acptest.Err(s.UpdateWhile(ctx, "k", []byte("given up"), first, nil)) }()
	require.Eventually(t, func() bool { return s.fencedQueue() == 1 }, time.Minute, time.Millisecond)
	go func() { next <- acptest.Err(s.UpdateWhile(t.Context(), "k", []byte("answered"), first, nil)) }()
	cancel()
	require.ErrorIs(t, <-gone, context.Canceled)
	require.Eventually(t, func() bool { return s.fencedQueue() == 1 }, time.Minute, time.Millisecond)
	release()
	require.NoError(t, <-next)
	require.Equal(t, "answered", string(acptest.Must(s.Last(t.Context(), "k")).Value))
	require.Empty(t, s.fence.flying)
}

// What another hub's was in the way of is sent again at once: it need not be checked anew,
// and does not lose its place.
func TestAnotherHubsIsInTheWay(t *testing.T) {
	t.Parallel()
	s := openShared(t)
	require.NoError(t, s.js.DeleteStream(t.Context(), s.stream())) // the test is the server
	s.fence.known.Store(true)
	const refusals = 5
	sent, checks := 0, 0
	sub := acptest.Must(s.conn.Subscribe(s.subjectOf(s.mark), func(m *nats.Msg) {
		if sent++; sent <= refusals {
			_ = m.Respond([]byte(`{"error":{"code":400,"err_code":10164,"description":"wrong last sequence"}}`)) // or the test sees nothing
		} else {
			_ = m.Respond([]byte(`{"stream":"KV_questions","seq":9,"batch":"x","count":2}`))
		}
	}))
	defer func() { _ = sub.Unsubscribe() }()
	began := time.Now()
	revision := acptest.Must(s.UpdateWhile(t.Context(), "k", []byte("answered"), 7, func(context.Context) error {
		checks++
		return nil
	}))
	prompt := time.Since(began) < inTheWay // or it is checked again
	require.EqualValues(t, 8, revision)
	require.True(t, sent == refusals+1 && checks == 1 || !prompt, "%d sent, %d checks", sent, checks)
}
