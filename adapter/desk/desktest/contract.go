package desktest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
)

// Open returns two handles to one empty store, as two processes have them.
type Open func(t *testing.T) (one, two desk.Store)

// Store checks that a store keeps its contract.
func Store(t *testing.T, open Open) {
	for name, check := range map[string]func(t *testing.T, one, two desk.Store){
		"keeps what is put":             keeps,
		"one of many settles":           oneSettles,
		"one of many takes":             oneTakes,
		"use that fails":                useFails,
		"taken while it is settled":     takenOrSettled,
		"tells what others do":          tells,
		"a desk in another process":     otherDesk,
		"an answer waits for its asker": waitsForAsker,
	} {
		t.Run(name, func(t *testing.T) {
			one, two := open(t)
			check(t, one, two)
		})
	}
}

// asked is when an entry of the tests is asked: no two at the same time.
var asked = struct {
	sync.Mutex
	time.Time
}{Time: time.Date(2026, 2, 4, 22, 16, 32, 123456789, time.UTC)}

func entry(id string) desk.Entry {
	asked.Lock()
	defer asked.Unlock()
	asked.Time = asked.Add(time.Nanosecond)
	return desk.Entry{
		Item: desk.Item{
			Kind: desk.Question, Agent: "Claude Code", Dir: "/src/shop",
			Call: convert.Call{Session: "s/1", ID: id, Name: "AskUserQuestion", Questions: []convert.Question{
				{Text: "Which <one>? " + id, Header: "H", Options: []convert.Option{{Label: "A, \"b\"", Description: "d", Preview: "p"}, {Label: "C"}}},
				{Text: "Which ones?", MultiSelect: true, Options: []convert.Option{{Label: "1"}, {Label: "2"}}},
				{Text: "And?"},
			}},
		},
		Asked: asked.Time, State: desk.Queued,
	}
}

func answered(e desk.Entry, words, by string) desk.Entry {
	e.State = desk.Settled
	e.Settlement = desk.Settlement{By: by, At: time.Date(2026, 2, 5, 1, 2, 3, 0, time.UTC), Outcome: convert.Outcome{
		Status:  convert.Answered,
		Answers: []convert.Answer{{Selected: []string{"C"}, Note: "if it works"}, {Selected: []string{"1", "2"}, Text: "3"}, {Text: words}},
	}}
	return e
}

func put(t *testing.T, s desk.Store, e desk.Entry) desk.Entry {
	t.Helper()
	kept, err := s.Put(t.Context(), e)
	require.NoError(t, err)
	require.NotZero(t, kept.Revision)
	return kept
}

// same compares what a store keeps of an entry.
func same(t *testing.T, want, got desk.Entry) {
	t.Helper()
	require.Equal(t, want.State, got.State)
	require.Equal(t, want.Call.Session, got.Call.Session)
	require.Equal(t, want.Call.ID, got.Call.ID)
	require.Equal(t, want.Call.Questions, got.Call.Questions)
	require.Equal(t, want.Kind, got.Kind)
	require.Equal(t, want.Agent, got.Agent)
	require.Equal(t, want.Dir, got.Dir)
	require.True(t, want.Asked.Equal(got.Asked), "asked %s, want %s", got.Asked, want.Asked)
	require.Equal(t, want.Outcome, got.Outcome)
	require.Equal(t, want.By, got.By)
	require.True(t, want.At.Equal(got.At), "settled at %s, want %s", got.At, want.At)
}

func list(t *testing.T, s desk.Store) map[string]desk.Entry {
	t.Helper()
	entries, err := s.List(t.Context())
	require.NoError(t, err)
	byID := map[string]desk.Entry{}
	for _, e := range entries {
		byID[e.Call.ID] = e
	}
	require.Len(t, byID, len(entries))
	return byID
}

func keeps(t *testing.T, one, two desk.Store) {
	require.Empty(t, list(t, one))
	a, b := entry("a"), entry("b")
	kept := put(t, one, a)
	same(t, a, kept)
	put(t, two, b)
	now, err := two.Put(t.Context(), a)
	require.ErrorIs(t, err, desk.ErrConflict, "it is there")
	same(t, a, now)
	require.Equal(t, kept.Revision, now.Revision)
	for _, s := range []desk.Store{one, two} {
		all := list(t, s)
		require.Len(t, all, 2)
		same(t, a, all["a"])
		same(t, b, all["b"])
		require.Equal(t, kept.Revision, all["a"].Revision)
	}

	end := answered(kept, "yes", "phone")
	settled := put(t, two, end)
	require.NotEqual(t, kept.Revision, settled.Revision)
	same(t, end, settled)
	same(t, end, list(t, one)["a"])
	now, err = one.Put(t.Context(), answered(kept, "no", "terminal"))
	require.ErrorIs(t, err, desk.ErrConflict)
	same(t, end, now)

	require.ErrorIs(t, one.Take(t.Context(), kept, nil), desk.ErrConflict, "of an old revision")
	require.NoError(t, one.Take(t.Context(), settled, nil))
	require.ErrorIs(t, two.Take(t.Context(), settled, nil), desk.ErrConflict)
	now, err = two.Put(t.Context(), end)
	require.ErrorIs(t, err, desk.ErrConflict)
	require.Zero(t, now.State)
	require.Len(t, list(t, two), 1)

	again := entry("a")
	same(t, again, put(t, two, again))
	require.ErrorIs(t, one.Take(t.Context(), kept, nil), desk.ErrConflict, "of the one before")
}

func oneSettles(t *testing.T, one, two desk.Store) {
	for round := range 20 {
		kept := put(t, one, entry(fmt.Sprint(round)))
		won := atOnce(8, func(i int) bool {
			_, err := []desk.Store{one, two}[i%2].Put(t.Context(), answered(kept, fmt.Sprint(i), fmt.Sprint(i)))
			if err != nil && !errors.Is(err, desk.ErrConflict) {
				t.Error(err)
			}
			return err == nil
		})
		require.Len(t, won, 1)
		require.Equal(t, fmt.Sprint(won[0]), list(t, two)[fmt.Sprint(round)].By)
	}
}

// atOnce does something several times at once, and returns which succeeded.
func atOnce(n int, do func(int) bool) (succeeded []int) {
	var all sync.WaitGroup
	var mu sync.Mutex
	start := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-start
			if do(i) {
				mu.Lock()
				defer mu.Unlock()
				succeeded = append(succeeded, i)
			}
		})
	}
	close(start)
	all.Wait()
	return succeeded
}

func oneTakes(t *testing.T, one, two desk.Store) {
	for round := range 20 {
		kept := put(t, one, entry(fmt.Sprint(round)))
		settled := put(t, two, answered(kept, "yes", "phone"))
		var mu sync.Mutex
		used := 0
		won := atOnce(8, func(i int) bool {
			err := []desk.Store{one, two}[i%2].Take(t.Context(), settled, func() error {
				mu.Lock()
				defer mu.Unlock()
				used++
				return nil
			})
			if err != nil && !errors.Is(err, desk.ErrConflict) {
				t.Error(err)
			}
			return err == nil
		})
		require.Len(t, won, 1)
		require.Equal(t, 1, used)
		require.Empty(t, list(t, one))
	}
}

func useFails(t *testing.T, one, two desk.Store) {
	settled := put(t, one, answered(put(t, one, entry("a")), "yes", "phone"))
	full := errors.New("disk full")
	require.ErrorIs(t, one.Take(t.Context(), settled, func() error { return full }), full)
	same(t, settled, list(t, two)["a"])
	require.NoError(t, two.Take(t.Context(), settled, nil))
}

// A correction that comes while an answer is used comes too late, and is told.
func takenOrSettled(t *testing.T, one, two desk.Store) {
	settled := put(t, one, answered(put(t, one, entry("a")), "yes", "phone"))
	told := make(chan error)
	require.NoError(t, one.Take(t.Context(), settled, func() error {
		go func() {
			_, err := two.Put(t.Context(), answered(settled, "no", "terminal"))
			told <- err
		}()
		return nil
	}))
	require.ErrorIs(t, <-told, desk.ErrConflict)
	require.Empty(t, list(t, two))
}

func tells(t *testing.T, one, two desk.Store) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	kept := put(t, one, entry("a"))
	news, err := two.Watch(ctx)
	require.NoError(t, err)
	next := func(id string, state desk.State, gone bool) desk.Change {
		t.Helper()
		for {
			select {
			case c := <-news:
				if c.Call.ID == id && c.State == state && c.Gone == gone {
					return c
				}
			case <-time.After(20 * time.Second):
				require.FailNow(t, "no news")
			}
		}
	}
	b := put(t, one, entry("b"))
	same(t, b, next("b", desk.Queued, false).Entry)
	settled := put(t, one, answered(kept, "yes", "phone"))
	c := next("a", desk.Settled, false)
	same(t, settled, c.Entry)
	require.Equal(t, settled.Revision, c.Revision)
	require.NoError(t, one.Take(t.Context(), settled, nil))
	same(t, settled, next("a", desk.Settled, true).Entry)
	stop()
	for range news { // up to its end
	}
}

func openDesk(t *testing.T, s desk.Store) *desk.Desk {
	t.Helper()
	d, err := desk.Open(s, nil)
	require.NoError(t, err)
	t.Cleanup(d.Close)
	return d
}

// A question that is asked here is answered at a desk elsewhere.
func otherDesk(t *testing.T, one, two desk.Store) {
	here := openDesk(t, one)
	e := entry("a")
	ticket, err := here.Post(t.Context(), e.Item)
	require.NoError(t, err)
	defer ticket.Leave()
	there := openDesk(t, two)
	require.Len(t, there.List(), 1)
	ref := desk.Ref{Session: e.Call.Session, ID: "a", Revision: there.List()[0].Revision}
	answers := answered(e, "yes", "").Outcome.Answers
	require.ErrorIs(t, there.Answer(ref, []convert.Answer{{Selected: []string{"Z"}}}, "phone"), convert.ErrFailed)
	require.NoError(t, there.Answer(ref, answers, "phone"))
	<-ticket.Context().Done()
	stands, first := ticket.Settle(convert.Outcome{Status: convert.Cancelled}, "editor")
	require.False(t, first)
	require.Equal(t, answers, stands.Answers)
	err = there.Answer(ref, answers, "terminal")
	require.ErrorIs(t, err, desk.ErrSettled)
	require.ErrorContains(t, err, "by phone")
	require.NoError(t, ticket.Deliver(func() error { return nil }))
	require.Empty(t, list(t, two))
}

// An answer that is given while nobody waits is there for who asks again, once.
func waitsForAsker(t *testing.T, one, two desk.Store) {
	here, there := openDesk(t, one), openDesk(t, two)
	e := entry("a")
	ticket, err := here.Post(t.Context(), e.Item)
	require.NoError(t, err)
	ticket.Leave()
	require.Len(t, here.List(), 1, "it outlives its asker")
	answers := answered(e, "yes", "").Outcome.Answers
	require.NoError(t, here.Answer(desk.Ref{Session: e.Call.Session, ID: "a"}, answers, "phone"))
	again, err := there.Post(t.Context(), e.Item)
	require.NoError(t, err)
	defer again.Leave()
	require.ErrorIs(t, again.Turn(), desk.ErrSettled)
	stands, _ := again.Settle(convert.Outcome{Status: convert.Failed}, "")
	require.Equal(t, answers, stands.Answers)
	full := errors.New("disk full")
	require.ErrorIs(t, again.Deliver(func() error { return full }), full)
	require.NoError(t, again.Deliver(func() error { return nil }))
	require.ErrorIs(t, again.Deliver(func() error { return nil }), desk.ErrConflict)
}
