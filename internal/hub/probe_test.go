package hub

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// A store that takes nothing any more makes the hub not ready, and then end. One that
// takes something again is ready.
func TestAStoreThatRefuses(t *testing.T) {
	t.Parallel()
	b := openBounded(t, Options{Lease: 40 * time.Millisecond})
	probes := func(mark func(context.Context) (uint64, error)) (begin func()) { // when the test says so
		gate := make(chan struct{})
		b.mu.Lock()
		defer b.mu.Unlock()
		b.mark = func(ctx context.Context) (uint64, error) {
			select {
			case <-gate:
				return mark(ctx)
			case <-t.Context().Done():
				return 0, t.Context().Err()
			}
		}
		return func() { close(gate) }
	}
	healed := probes(b.store.Mark)
	b.refused(true)
	require.NoError(t, b.Ready(), "that was too large")
	b.refused(false)
	require.ErrorIs(t, b.Ready(), errStore)
	healed()
	require.Eventually(t, func() bool { return b.Ready() == nil }, time.Minute, time.Millisecond, "a probe heals it")

	b.refused(false)
	acptest.Must(b.Ask(t.Context(), askingOf("bot", "a", "")))
	require.NoError(t, b.Ready(), "and so does a write")

	waits := func(since time.Time) {
		b.writes("c", &writing{}, true)
		b.step(func(s *state) { s.writing["c"].since = since })
	}
	waits(time.Now())
	require.NoError(t, b.Ready())
	waits(time.Now().Add(-2 * slowTime))
	require.ErrorIs(t, b.Ready(), errStore, "a full disk says nothing for a while")
	b.writes("c", b.writing["c"], false)
	require.NoError(t, b.Ready())

	full := probes(func(context.Context) (uint64, error) { return 0, errors.New("no space left on device") })
	b.refused(false)
	require.ErrorIs(t, b.Ready(), errStore)
	full()
	<-b.Done() // it goes on no more
	require.Error(t, b.Ready())
}

// Page by page each record is seen once, also of those that ended at one moment.
// Notes are searched, too.
func TestPagesOfOneMoment(t *testing.T) {
	at := time.Unix(1000, 1)
	b := newBoard(nil, Options{})
	for _, key := range []string{"a", "b", "c", "d"} {
		b.records[key] = &Record{key: key, End: &End{Outcome: "answered", At: at, Answers: []convert.Answer{{Text: "x", Note: "the purple " + key}}}}
	}
	var seen []string
	for s, more := (Search{Limit: 1}), true; more; {
		var page []*Record
		page, more = b.Search(s)
		require.Len(t, page, 1)
		seen, s.After = append(seen, page[0].key), page[0].Place()
	}
	require.Equal(t, []string{"d", "c", "b", "a"}, seen)
	require.Len(t, b.Settled("purple", 10), 4)
	require.Empty(t, b.Settled("purple green", 10))
}

// Somebody may join a question and take it back before the writer's own goroutine
// runs again: the writer is told what it wrote, not the end of it.
func TestWriterGetsWhatItWrote(t *testing.T) {
	t.Parallel()
	b := openBounded(t, Options{Lease: time.Hour})
	asked := acptest.Must(b.Ask(t.Context(), Asking{Conversation: "c", Call: convert.Call{ID: "q", Questions: []convert.Question{{Text: "Go?"}}}}))
	acptest.Must(b.TakeBack(t.Context(), asked.Ref(), convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Text: "Yes"}}}, "somebody"))

	late := acptest.Must(b.written(t.Context(), asked, asked.Revision))
	require.True(t, late.Open())
	require.Equal(t, asked.Ref(), late.Ref())
	require.False(t, b.Wait(t.Context(), late).Open(), "and who waits for it is told its end")
}
