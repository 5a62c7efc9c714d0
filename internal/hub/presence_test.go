package hub_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/hub/netfault"
)

// natsServer is one that several hubs may use.
func natsServer(t *testing.T) (url string) { return natsWith(t, 1<<20) }

// natsWith is natsServer with another limit for values.
func natsWith(t *testing.T, limit int32) (url string) {
	t.Helper()
	return netfault.NATS(t, limit).ClientURL()
}

func boardAt(t *testing.T, url string, o hub.Options) *hub.Board {
	t.Helper()
	store := acptest.Must(hubstore.Open(t.Context(), hubstore.Options{URL: url}))
	b := acptest.Must(hub.Open(t.Context(), store, o))
	t.Cleanup(func() { b.Close(); store.Close() })
	return b
}

// elsewhere opens boards on one server that others may use.
func elsewhere(t *testing.T, o hub.Options) (one, two *hub.Board) {
	t.Helper()
	url := natsServer(t)
	return boardAt(t, url, o), boardAt(t, url, o)
}

func until(t *testing.T, b *hub.Board, id string, ok func(*hub.Record) bool) {
	t.Helper()
	require.Eventually(t, func() bool {
		r, err := b.Find("c", id)
		return err == nil && ok(r)
	}, patience, time.Millisecond)
}

// What a hub tells it does not hear itself: it knows better who is here.
func TestAHubTellsTheOthers(t *testing.T) {
	t.Parallel()
	url, heard := natsServer(t), [2]chan string{make(chan string, 2), make(chan string, 2)}
	var stores [2]*hubstore.Store
	for i := range stores {
		stores[i] = acptest.Must(hubstore.Open(t.Context(), hubstore.Options{URL: url}))
		t.Cleanup(stores[i].Close)
		stop := acptest.Must(stores[i].Hear(func(data []byte) { heard[i] <- string(data) }))
		t.Cleanup(stop)
	}
	require.NoError(t, stores[0].Tell([]byte("first")))
	require.Equal(t, "first", <-heard[1])
	require.NoError(t, stores[1].Tell([]byte("then")))
	require.Equal(t, "then", <-heard[0])
}

// An asker that is at one hub is not gone at another.
func TestAnAskerAtAnotherHub(t *testing.T) {
	t.Parallel()
	one, two := elsewhere(t, hub.Options{Lease: 300 * time.Millisecond})
	r := ask(t, one, "c", "id", "Go on?")
	for _, b := range []*hub.Board{one, two} {
		until(t, b, "id", func(r *hub.Record) bool { return r.Gone })
	}
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan *hub.Record, 1)
	go func() { left <- one.Wait(ctx, r) }()
	until(t, two, "id", func(r *hub.Record) bool { return !r.Gone })
	leave()
	<-left
	until(t, two, "id", func(r *hub.Record) bool { return r.Gone })
}

// Who is there is told in messages that a server takes which takes only short ones: all are
// heard of, again and again.
func TestManyAskersAreToldInShortMessages(t *testing.T) {
	t.Parallel()
	const limit, askers = 4 << 10, 80
	url := natsWith(t, limit)
	b := boardAt(t, url, hub.Options{Lease: time.Second})
	other := acptest.Must(hubstore.Open(t.Context(), hubstore.Options{URL: url}))
	t.Cleanup(other.Close)
	var mu sync.Mutex
	heard := map[string]int{}
	stop := acptest.Must(other.Hear(func(data []byte) {
		var list []struct{ Key, Asker string }
		if len(data) <= limit && json.Unmarshal(data, &list) == nil && len(list) > 1 { // one is told when it comes
			mu.Lock()
			defer mu.Unlock()
			for _, a := range list {
				heard[a.Key+a.Asker]++
			}
		}
	}))
	t.Cleanup(stop)
	ctx, leave := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer leave()
	for i := range askers {
		r := askBy(t, b, fmt.Sprintf("process-%030d", i), fmt.Sprint(i), fmt.Sprint("Go on with ", i, "?"))
		waiting.Go(func() { b.Wait(ctx, r) })
	}
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		twice := 0
		for _, n := range heard {
			if n > 1 {
				twice++
			}
		}
		return twice == askers
	}, patience, time.Millisecond)
}

// A process that came back at one hub takes its question back at another.
func TestTheAskerIsKnownAtAllHubs(t *testing.T) {
	t.Parallel()
	one, two := elsewhere(t, hub.Options{Lease: time.Hour})
	askBy(t, one, "p", "old", "Go on?")
	until(t, two, "old", (*hub.Record).Open)
	askBy(t, one, "q", "old/new", "Go on?")
	until(t, two, "old", func(r *hub.Record) bool { return r.Asker == "q" })
	cancelled := convert.Outcome{Status: convert.Cancelled}
	require.ErrorIs(t, acptest.Err(two.TakeBack(t.Context(), hub.Ref{Conversation: "c", ID: "old", Asker: "p"}, cancelled, "editor")), hub.ErrNotAsker)
	_, err := two.TakeBack(t.Context(), hub.Ref{Conversation: "c", ID: "old/new", Asker: "r"}, cancelled, "editor")
	require.ErrorIs(t, err, hub.ErrNotFound, "that is q's name for it")
	acptest.Must(two.TakeBack(t.Context(), hub.Ref{Conversation: "c", ID: "old/new", Asker: "q"}, cancelled, "editor"))
	until(t, one, "old", func(r *hub.Record) bool { return !r.Open() })
}

// A hub that is cut off hears of no other hub's askers. That does not make them gone:
// when it is back, what they hold is as it was.
func TestAHubThatWasCutOffEndsNothing(t *testing.T) {
	t.Parallel()
	const lease = time.Hour
	at := natsServer(t)
	between := netfault.Between(t, at)
	one, two := boardAt(t, at, hub.Options{Lease: lease}), boardAt(t, "nats://"+between.Addr(), hub.Options{Lease: lease})
	acptest.Must(one.Ask(t.Context(), hub.Asking{Conversation: "c", Name: "id", Asker: "p", Hold: &hub.Hold{},
		Call: convert.Call{ID: "id", Questions: []convert.Question{{Text: "Go on?"}}}}))
	until(t, two, "id", (*hub.Record).Open)
	between.Point("") // nobody is served any more
	between.Set(netfault.Pass)
	require.Eventually(t, func() bool { return two.Ready() != nil }, patience, time.Millisecond)
	much := time.Now().Add(2 * lease)
	two.Attend(much)
	between.Point(strings.TrimPrefix(at, "nats://"))
	ask(t, one, "c", "later", "And now?")
	until(t, two, "later", (*hub.Record).Open) // it is back
	two.Attend(much.Add(lease / 2))
	two.EndGone()
	for _, b := range []*hub.Board{one, two} {
		r := acptest.Must(b.Find("c", "id"))
		require.True(t, r.Open() && !r.Gone)
	}
}
