package hub

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

// overBoard has questions whose asker has refused the outcome and is there for an hour. The
// board has known that since a time that is to come: it archives none by itself.
func overBoard(t *testing.T, n int) (b *Board, known time.Time) {
	t.Helper()
	b, known = openBounded(t, Options{Lease: time.Hour}), time.Now().Add(time.Hour)
	for i := range n {
		r, err := b.Ask(t.Context(), askingOf("bot", fmt.Sprint("q", i), "p"))
		require.NoError(t, err)
		_, err = b.Answer(t.Context(), r.Ref(), sayYes, "phone")
		require.NoError(t, err)
		_, err = b.Refuse(t.Context(), r.Ref(), "the agent has gone on")
		require.NoError(t, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fewPast = 0
	for _, r := range b.records {
		r.known = known
	}
	return b, known
}

// inMemory are the ids of what is not archived.
func inMemory(b *Board) (ids []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.records {
		ids = append(ids, r.ID)
	}
	slices.Sort(ids)
	return ids
}

// What is over stays in memory as long as its asker may be there, and for a while after its
// last change.
func TestWhatIsOverStaysForAWhile(t *testing.T) {
	t.Parallel()
	b, known := overBoard(t, 1)
	b.settleDown(t.Context(), known.Add(pastTime))
	require.Len(t, inMemory(b), 1, "its asker is there")
	b.Expire(known.Add(time.Hour))
	b.settleDown(t.Context(), known.Add(pastTime-1))
	require.Len(t, inMemory(b), 1, "whoever is told of it looks at it now")
	b.settleDown(t.Context(), known.Add(pastTime))
	require.Empty(t, inMemory(b))
}

// A few stay in memory for good: the last ones, and half of them when there are more.
func TestAFewStayInMemory(t *testing.T) {
	t.Parallel()
	b, known := overBoard(t, 5)
	b.Expire(known.Add(time.Hour))
	for _, now := range []struct {
		few  int
		left []string
	}{{5, []string{"q0", "q1", "q2", "q3", "q4"}}, {4, []string{"q3", "q4"}}} {
		b.mu.Lock()
		b.fewPast = now.few
		b.mu.Unlock()
		b.settleDown(t.Context(), known.Add(pastTime))
		require.Equal(t, now.left, inMemory(b))
	}
}

// When something cannot be archived it is tried again in a minute, and not before. Where
// another hub was faster it is tried the next time.
func TestArchivingIsTriedAgainInAMinute(t *testing.T) {
	t.Parallel()
	b, known := overBoard(t, 1)
	b.Expire(known.Add(time.Hour))
	now := known.Add(pastTime)
	closed, err := hubstore.Open(t.Context(), hubstore.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	closed.Close()
	b.archive.store = closed
	b.settleDown(t.Context(), now)
	require.Len(t, inMemory(b), 1)
	b.archive.store = nil // it is found again
	b.settleDown(t.Context(), now.Add(time.Minute-1))
	require.Len(t, inMemory(b), 1)
	b.settleDown(t.Context(), now.Add(time.Minute))
	require.Empty(t, inMemory(b))

	again := b.archive.again
	b.putOff(t.Context(), now.Add(time.Hour), "", fmt.Errorf("archive: %w", hubstore.ErrConflict))
	ended, end := context.WithCancel(t.Context())
	end()
	b.putOff(ended, now.Add(time.Hour), "", context.Canceled)
	require.Equal(t, again, b.archive.again)
}

// Whoever lists conversations has the questions that stand for them in memory, and not all
// of the volumes that they are in.
func TestConversationsKeepNoVolumes(t *testing.T) {
	t.Parallel()
	b, known := overBoard(t, 3)
	b.Expire(known.Add(time.Hour))
	b.settleDown(t.Context(), known.Add(pastTime))
	require.Empty(t, inMemory(b))
	var live []*Record
	last, err := b.lastArchived(&live)
	require.NoError(t, err)
	require.Empty(t, live)
	require.Len(t, last, 1)
	list, err := b.contents(t.Context(), b.archive.all()[0])
	require.NoError(t, err)
	for _, q := range last {
		require.Equal(t, "q2", q.id)
		require.Equal(t, list[2].value, q.value)
		require.NotSame(t, &list[2].value[0], &q.value[0])
	}
}
