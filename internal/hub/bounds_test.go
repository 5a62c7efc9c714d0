package hub

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

func openBounded(t *testing.T, o Options) *Board {
	t.Helper()
	store, err := hubstore.Open(t.Context(), hubstore.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	b, err := Open(t.Context(), store, o)
	require.NoError(t, err)
	t.Cleanup(b.Close)
	return b
}

func askingOf(device, id, asker string) Asking {
	return Asking{Conversation: "c", Device: device, Asker: asker, Call: convert.Call{ID: id, Questions: []convert.Question{{Text: "Go on?"}}}}
}

// other is an asking in other words.
func other(a Asking) Asking {
	a.Call.Questions = []convert.Question{{Text: "Go on with " + a.Call.ID + "?"}}
	return a
}

func sayYes(*Record) ([]convert.Answer, error) { return []convert.Answer{{Text: "Yes"}}, nil }

// A device has so much open and no more; that of others counts for itself, and what
// ended does not count.
func TestBoundsOfADevice(t *testing.T) {
	t.Parallel()
	b := openBounded(t, Options{})
	r, err := b.Ask(t.Context(), askingOf("bot", "a", ""))
	require.NoError(t, err)
	require.Equal(t, load{1, r.size}, b.loads["bot"])
	require.Positive(t, r.size)
	for _, full := range []load{{maxOpen, 0}, {1, maxBytes - 10}} {
		b.loads["bot"] = full
		_, err = b.Ask(t.Context(), other(askingOf("bot", "b", "p")))
		var bound *BoundError
		require.ErrorAs(t, err, &bound)
		require.Contains(t, bound.Error(), fmt.Sprint(bound.Limit))
		_, err = b.Ask(t.Context(), other(askingOf("other", fmt.Sprint(full.open), "p")))
		require.NoError(t, err)
		_, err = b.Ask(t.Context(), askingOf("bot", "a", ""))
		require.NoError(t, err, "that is there already")
	}
	b.loads["bot"] = load{1, r.size}
	_, err = b.Answer(t.Context(), r.Ref(), sayYes, "phone")
	require.NoError(t, err)
	require.NotContains(t, b.loads, "bot")
}

// However often and by whomever a question is asked again, it can be answered, and
// other hubs hear no more than what is new.
func TestAskedAgainAndAgain(t *testing.T) {
	t.Parallel()
	b := openBounded(t, Options{})
	r, err := b.Ask(t.Context(), askingOf("bot", "first", "p"))
	require.NoError(t, err)
	b.mu.Lock()
	for i := range 200 { // as Ask does it, which first makes sure that the asker before is gone
		b.join(r, &Record{ID: fmt.Sprint("again", i), Asker: fmt.Sprint(i) + strings.Repeat("\x01", 120)})
	}
	b.mu.Unlock()
	l := b.leases[r.key]
	require.Len(t, l.askers, maxAskers)
	require.Len(t, l.also, maxAlso)
	require.Contains(t, l.also, "again199", "the last ones are known")
	_, err = b.FindIn("", "c", "again199")
	require.NoError(t, err)
	done, err := b.Answer(t.Context(), r.Ref(), sayYes, "phone")
	require.NoError(t, err)
	require.LessOrEqual(t, len(done.End.Askers), maxAskers)
	require.Less(t, done.size, receiptRoom)
}

// What was dropped leaves nothing behind.
func TestMarkersGo(t *testing.T) {
	t.Parallel()
	b := openBounded(t, Options{Keep: 20 * time.Millisecond})
	for i := range 5 {
		r, err := b.Ask(t.Context(), askingOf("bot", fmt.Sprint(i), ""))
		require.NoError(t, err)
		_, err = b.Answer(t.Context(), r.Ref(), sayYes, "phone")
		require.NoError(t, err)
		_, err = b.Consumed(t.Context(), r.Ref())
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool {
		e, err := b.store.Engine(t.Context())
		b.mu.Lock()
		defer b.mu.Unlock()
		return err == nil && e.Values == 0 && len(b.records) == 0 && len(b.markers) == 0
	}, time.Minute, 5*time.Millisecond)
}

// One asking again tells one id.
func TestOnlyTheNewIDIsTold(t *testing.T) {
	t.Parallel()
	l := &lease{also: []string{"a", "b", "c"}}
	b := openBounded(t, Options{})
	r, err := b.Ask(t.Context(), askingOf("bot", "first", "p"))
	require.NoError(t, err)
	b.leases[r.key] = l
	told := make(chan []asking, 10)
	stop, err := b.store.Hear(func(data []byte) {
		var list []asking
		_ = json.Unmarshal(data, &list)
		told <- list
	})
	require.NoError(t, err)
	defer stop()
	b.tellOne(r, "d")
	require.Equal(t, []string{"d"}, (<-told)[0].Also)
	b.tellOne(r, "first")
	require.Empty(t, (<-told)[0].Also)
}

// An asker is gone when it was silent for a lease in which the hub listened. A hub that
// stood still, as a machine does that sleeps, has not listened.
func TestAHubThatStoodStill(t *testing.T) {
	t.Parallel()
	b := openBounded(t, Options{Lease: time.Hour})
	_, err := b.Ask(t.Context(), askingOf("bot", "a", "p"))
	require.NoError(t, err)
	gone := func() bool {
		r, err := b.Find("c", "a")
		require.NoError(t, err)
		return r.Gone
	}
	woke := time.Now().Add(8 * time.Hour)
	b.attend(woke, woke.Add(-8*time.Hour))
	require.False(t, gone())
	later := woke.Add(time.Hour + time.Minute)
	b.attend(later, later.Add(-2*time.Second))
	require.True(t, gone())
}
