package desk_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/adapter/desk/desktest"
	"github.com/acp-bridge/acp-bridge/convert"
)

func TestMemory(t *testing.T) {
	desktest.Store(t, func(*testing.T) (one, two desk.Store) {
		m := new(desktest.Memory)
		return m, m
	})
}

func open(t *testing.T, s desk.Store) *desk.Desk {
	d, err := desk.Open(s, nil)
	require.NoError(t, err)
	t.Cleanup(d.Close)
	return d
}

// A store that fails keeps a question from being posted, and an answer from
// being told as given; the asker's own outcome stands all the same.
func TestStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("disk full")
		var fail error
		store := &desktest.Memory{Fail: func(string) error { return fail }}
		d := open(t, store)
		fail = broken
		_, err := d.Post(t.Context(), desk.Item{Kind: desk.Question, Call: question("s", "a")})
		require.ErrorIs(t, err, broken)
		require.Empty(t, d.List())
		fail = nil
		a := post(t, d, "s", "a")
		require.NoError(t, a.Turn(), "the one that failed has left the queue")
		b := post(t, d, "s", "b")

		fail = broken
		ref := desk.Ref{Session: "s", ID: "a"}
		require.ErrorIs(t, d.Answer(ref, picks("Auth"), "phone"), broken)
		require.ErrorIs(t, d.Cancel(ref, "phone"), broken)
		require.Len(t, d.List(), 2)
		used := false
		stands, first := a.Settle(convert.Outcome{Status: convert.Cancelled}, "editor")
		require.True(t, first)
		require.Equal(t, convert.Cancelled, stands.Status)
		require.NoError(t, a.Deliver(func() error { used = true; return nil }))
		require.True(t, used)
		require.ErrorIs(t, b.Turn(), desk.ErrSettled, "withdrawn")
		d.Close()

		_, err = desk.Open(store, nil)
		require.ErrorIs(t, err, broken)
	})
}

// What others remove is cancelled here, and its siblings with it.
func TestRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(desktest.Memory)
		d := open(t, store)
		log := watch(d)
		a, b := post(t, d, "s", "a"), post(t, d, "s", "b")
		left := post(t, d, "other", "c")
		left.Leave()
		for _, e := range d.List() {
			if e.Call.ID != "b" {
				require.NoError(t, store.Take(t.Context(), e, nil))
			}
		}
		synctest.Wait()
		require.Empty(t, d.List())
		require.ErrorIs(t, context.Cause(a.Context()), desk.ErrSettled)
		stands, _ := a.Settle(convert.Outcome{Status: convert.Failed}, "")
		require.Equal(t, convert.Outcome{Status: convert.Cancelled, Reason: "The question was removed"}, stands)
		require.ErrorIs(t, b.Turn(), desk.ErrSettled)
		last := log.entries[len(log.entries)-1]
		require.Equal(t, desk.Settled, last.State)
		require.ErrorContains(t, d.Cancel(desk.Ref{Session: "other", ID: "c"}, ""), "cancelled at")
		require.ErrorIs(t, left.Deliver(nil), desk.ErrConflict)
	})
}

// What is being withdrawn beside a cancelled question is not shown any more, though
// the store has not said so yet.
func TestNotShownWhileWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, puts := make(chan struct{}), 0
		store := &desktest.Memory{Fail: func(method string) error {
			if method == "Put" {
				if puts++; puts == 4 { // two are posted, one is cancelled
					<-slow
				}
			}
			return nil
		}}
		d := open(t, store)
		first, second := post(t, d, "s", "first"), post(t, d, "s", "second")
		go first.Settle(convert.Outcome{Status: convert.Cancelled}, "editor")
		synctest.Wait()
		turn := make(chan error, 1)
		go func() { turn <- second.Turn() }()
		synctest.Wait()
		require.Empty(t, turn)
		close(slow)
		require.ErrorIs(t, <-turn, desk.ErrSettled)
		second.Leave()
	})
}

// The same name with other questions is another question.
func TestOtherQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, new(desktest.Memory))
		post(t, d, "s", "a").Leave()
		_, err := d.Post(t.Context(), desk.Item{Kind: desk.Question, Call: question("s", "a")})
		require.ErrorIs(t, err, desk.ErrOpen)
		require.ErrorContains(t, err, "with other questions")
		require.Len(t, d.List(), 1)
	})
}

// What is answered is what was seen, also where the store is shared.
func TestStoreRevision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(desktest.Memory)
		d := open(t, store)
		post(t, d, "s", "a")
		seen := d.List()[0]
		changed := seen
		changed.Agent = "another"
		_, err := store.Put(t.Context(), changed)
		require.NoError(t, err)
		ref := desk.Ref{Session: "s", ID: "a", Revision: seen.Revision}
		require.ErrorIs(t, d.Answer(ref, picks("Auth"), "phone"), desk.ErrRevision, "it has not been noticed yet")
		synctest.Wait()
		require.ErrorIs(t, d.Answer(ref, picks("Auth"), "phone"), desk.ErrRevision)
		ref.Revision = d.List()[0].Revision
		require.NoError(t, d.Answer(ref, picks("Auth"), "phone"))
	})
}

// A closed question takes none but its options.
func TestClosed(t *testing.T) {
	d := new(desk.Desk)
	call := question("s", "a")
	call.Questions[0].Closed = true
	call.Questions[0].Options = []convert.Option{{Label: "Allow"}, {Label: "Deny"}}
	ticket, err := d.Post(t.Context(), desk.Item{Kind: desk.Permission, Call: call})
	require.NoError(t, err)
	defer ticket.Leave()
	ref := desk.Ref{Session: "s", ID: "a"}
	require.ErrorIs(t, d.Answer(ref, []convert.Answer{{Text: "Allow everything"}}, ""), convert.ErrBadAnswer)
	require.ErrorContains(t, ticket.Deliver(nil), "no outcome")
	require.NoError(t, d.Answer(ref, picks("Deny"), ""))
}
