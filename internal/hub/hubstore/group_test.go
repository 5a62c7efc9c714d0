package hubstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

func openEmbedded(t *testing.T) *Store {
	t.Helper()
	s := acptest.Must(Open(t.Context(), Options{Dir: t.TempDir()}))
	t.Cleanup(s.Close)
	return s
}

// Hold keeps writes in the queue until what it returns is called.
func (s *Store) Hold() (release func()) {
	s.group.Step(func() { s.group.drains = true })
	return s.drain
}

// Queued is how many writes are in the queue.
func (s *Store) Queued() (n int) {
	s.group.Step(func() { n = len(s.group.queue) })
	return n
}

// made reports whether a value was written by a batch.
func (s *Store) made(t *testing.T, key string) (batch bool) {
	t.Helper()
	m := acptest.Must(s.direct.GetLastMsg(s.stream(), s.subjectOf(key), nats.Context(t.Context())))
	return m.Header.Get("Nats-Batch-Id") != ""
}

// Writes of one moment are one batch, and each has the revision that it is kept
// with.
func TestWritesTogether(t *testing.T) {
	t.Parallel()
	s := openEmbedded(t)
	first := acptest.Must(s.Create(t.Context(), "old", []byte("1")))
	for _, n := range []int{1, fewAlone - 1, fewAlone, mostJoined, mostJoined + fewAlone} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			release := s.Hold()
			revisions := make([]uint64, n)
			key := func(i int) string { return fmt.Sprintf("k%d.%d", n, i) }
			var all sync.WaitGroup
			for i := range n {
				all.Go(func() {
					var err error
					if i == n/2 {
						revisions[i], err = s.Update(t.Context(), "old", []byte(key(i)), first)
						first = revisions[i]
					} else {
						revisions[i], err = s.Create(t.Context(), key(i), []byte(key(i)))
					}
					require.NoError(t, err)
				})
			}
			require.Eventually(t, func() bool { return s.Queued() == n }, time.Minute, time.Millisecond)
			release()
			all.Wait()
			batches := 0
			for i := range n {
				at := key(i)
				if i == n/2 {
					at = "old"
				}
				e := acptest.Must(s.Get(t.Context(), at))
				require.Equal(t, Entry{at, []byte(key(i)), revisions[i]}, e)
				if s.made(t, at) {
					batches++
				}
			}
			if n < fewAlone {
				require.Zero(t, batches)
			} else {
				require.Equal(t, n, batches)
			}
			require.Empty(t, s.group.flying)
			require.Zero(t, s.group.alone)
		})
	}
}

// A write that comes too late spoils a batch for nobody else.
func TestABatchWithAConflict(t *testing.T) {
	s := openEmbedded(t)
	stale := acptest.Must(s.Create(t.Context(), "late", []byte("1")))
	acptest.Must(s.Update(t.Context(), "late", []byte("2"), stale))
	release := s.Hold()
	var all sync.WaitGroup
	for i := range fewAlone {
		all.Go(func() { acptest.Must(s.Create(t.Context(), fmt.Sprint("k", i), []byte("v"))) })
	}
	all.Go(func() {
		require.ErrorIs(t, acptest.Err(s.Update(t.Context(), "late", []byte("3"), stale)), ErrConflict)
	})
	all.Go(func() { acptest.Must(s.Create(t.Context(), "k.0", []byte("v"))) })
	require.Eventually(t, func() bool { return s.Queued() == fewAlone+2 }, time.Minute, time.Millisecond)
	release()
	all.Wait()
	require.Equal(t, "2", string(acptest.Must(s.Get(t.Context(), "late")).Value))
	require.Empty(t, s.group.flying)
}

// Of two writes of one key one goes by itself, so that a batch has no two of them.
func TestTwoOfAKeyAreNotJoined(t *testing.T) {
	s := openEmbedded(t)
	release := s.Hold()
	first := make(chan error, 1)
	go func() { first <- acptest.Err(s.Create(t.Context(), "k", []byte("1"))) }()
	require.Eventually(t, func() bool { return s.Queued() == 1 }, time.Minute, time.Millisecond)
	acptest.Must(s.Create(t.Context(), "k", []byte("2")))
	release()
	require.ErrorIs(t, <-first, ErrConflict)
}

// A write whose caller has given up is not made later, if it was not sent.
func TestAWriteIsTakenOutOfTheQueue(t *testing.T) {
	s := openEmbedded(t)
	release := s.Hold()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- acptest.Err(s.Create(ctx, "k", []byte("1"))) }()
	require.Eventually(t, func() bool { return s.Queued() == 1 }, time.Minute, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.Empty(t, s.group.flying)
	release()
	require.ErrorIs(t, acptest.Err(s.Get(t.Context(), "k")), ErrNotFound)
}

// Whatever goes together, of several writers of a revision one wins, and who was
// told so is the one whose value is there.
func TestManyWritersOfFewKeys(t *testing.T) {
	t.Parallel()
	s := openEmbedded(t)
	const keys, writers, rounds = 40, 3, 10
	var all sync.WaitGroup
	for k := range keys {
		all.Go(func() {
			key, revision := fmt.Sprint("k", k), uint64(0)
			for round := range rounds {
				var same sync.WaitGroup
				results, errs := make([]uint64, writers), make([]error, writers)
				for w := range writers {
					same.Go(func() {
						value := fmt.Appendf(nil, "%d of %d", w, round)
						if revision == 0 {
							results[w], errs[w] = s.Create(t.Context(), key, value)
						} else {
							results[w], errs[w] = s.Update(t.Context(), key, value, revision)
						}
					})
				}
				same.Wait()
				won := -1
				for w, err := range errs {
					if err == nil {
						require.Equal(t, -1, won, "two won")
						won = w
					} else if !errors.Is(err, ErrConflict) {
						require.NoError(t, err)
					}
				}
				require.GreaterOrEqual(t, won, 0, "nobody won")
				e := acptest.Must(s.Get(t.Context(), key))
				require.Equal(t, Entry{key, fmt.Appendf(nil, "%d of %d", won, round), results[won]}, e)
				revision = e.Revision
			}
		})
	}
	all.Wait()
	require.Empty(t, s.group.flying)
	require.Zero(t, s.group.alone)
}

// Long values do not make one long batch.
func TestABatchIsBounded(t *testing.T) {
	g := &group{}
	for range 3 {
		g.queue = append(g.queue, &joined{write: write{value: make([]byte, mostBytes/2)}})
	}
	require.Equal(t, 2, next(g.queue))
	g.queue = g.queue[:1]
	g.queue[0].value = make([]byte, 2*mostBytes)
	require.Equal(t, 1, next(g.queue))
	for range mostJoined {
		g.queue = append(g.queue, &joined{})
	}
	g.queue[0].value = nil
	require.Equal(t, mostJoined, next(g.queue))
	g.queue = nil
	require.Zero(t, next(g.queue))
}

// Who was told of a change is told of the next one, and of none twice.
func TestWatchGoesOnBehindTheLastChange(t *testing.T) {
	s := openEmbedded(t)
	var revisions []uint64
	for _, key := range []string{"a", "b", "c"} {
		revisions = append(revisions, acptest.Must(s.Create(t.Context(), key, []byte("1"))))
	}
	s.shared = true // others write, too
	ctx, stop := context.WithCancel(t.Context())
	var told []uint64
	w := watch{Store: s, last: revisions[0], f: func(e Entry) {
		if told = append(told, e.Revision); e.Key == "c" {
			stop()
		}
	}}
	require.ErrorIs(t, w.follow(ctx), context.Canceled)
	require.Equal(t, revisions[1:], told)
}

// What servers of a cluster say of a bucket that another hub makes just now is not
// the end of a start.
func TestSoon(t *testing.T) {
	for _, err := range []error{
		&jetstream.APIError{Code: 404, ErrorCode: 10059, Description: "stream not found"},
		&jetstream.APIError{Code: 503, ErrorCode: 10008, Description: "JetStream system temporarily unavailable"},
		nats.ErrNoResponders, jetstream.ErrBucketExists,
		errors.Join(jetstream.ErrBucketExists, &jetstream.APIError{Code: 400, ErrorCode: 10058, Description: "stream name already in use"}),
	} {
		require.True(t, soon(fmt.Errorf("bucket: %w", err)), err)
	}
	for _, err := range []error{
		&jetstream.APIError{Code: 400, ErrorCode: 10052, Description: "replicas > 1 not supported in non-clustered mode"},
		&jetstream.APIError{Code: 404, ErrorCode: 10037, Description: "no message found"},
		errors.New("another"),
	} {
		require.False(t, soon(err), err)
	}
}
