package hub_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

// askBy asks as a process.
func askBy(t *testing.T, b *hub.Board, process, id, text string) *hub.Record {
	t.Helper()
	a := asking("c", id, text)
	a.Asker = process
	return acptest.Must(b.Ask(t.Context(), a))
}

// Permission for one thing does not extend to another, nor that for one call to
// the next, whatever the words are.
func TestPermissionsAreNotShared(t *testing.T) {
	b := boardBeside(t)
	permission := func(id, detail string) *hub.Record {
		a := asking("c", id, "Write notes.txt")
		a.Kind, a.Detail = "permission", detail
		return acptest.Must(b.Ask(t.Context(), a))
	}
	first := permission("t1", `{"content":"hello"}`)
	require.Equal(t, first, permission("t1", `{"content":"hello"}`))
	require.NotEqual(t, first.ID, permission("t2", `{"content":"rm -rf /"}`).ID, "it is for something else")
	require.NotEqual(t, first.ID, permission("t3", `{"content":"hello"}`).ID, "it is another call")
	answer(t, b, first, "Yes", "phone")
	require.True(t, permission("t4", `{"content":"hello"}`).Open(), "nobody was asked about this one")
	require.True(t, permission("t1", `{"content":"other"}`).Open(), "nor about this")
}

// A process that asks under two ids has two questions. One that came back has
// the question of the one that is gone.
func TestOneProcessHasAQuestionForEachCall(t *testing.T) {
	b := boardBeside(t)
	first, second := askBy(t, b, "p", "id1", "Go on?"), askBy(t, b, "p", "id2", "Go on?")
	require.NotEqual(t, first.ID, second.ID)
	require.Equal(t, first, askBy(t, b, "p", "id1", "Go on?"), "its own id counts first")
	require.Equal(t, second, askBy(t, b, "p", "id2", "Go on?"))

	acptest.Must(b.TakeBack(t.Context(), ref(first), convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Selected: []string{"Yes"}}}}, "editor"))
	require.True(t, askBy(t, b, "p", "id2", "Go on?").Open(), "the editor answered the other one")
	answer(t, b, second, "No", "phone")
	third := askBy(t, b, "p", "id3", "Go on?")
	require.True(t, third.Open(), "an answer on its way to another call")
	require.Equal(t, second.ID, askBy(t, b, "q", "id2/4", "Go on?").ID, "a process that came back has the answer that nobody got")
	require.Equal(t, third.ID, askBy(t, b, "q", "id3/5", "Go on?").ID, "and then what is open")
}

// A process that is late takes nothing back that another one asks.
func TestOnlyTheAskerTakesBack(t *testing.T) {
	b := boardBeside(t)
	first := askBy(t, b, "p", "id", "First?")
	second := askBy(t, b, "q", "id", "Second?")
	require.NotEqual(t, first.Key(), second.Key(), "another process under the same id asks something else")
	settle := func(process string) error {
		_, err := b.TakeBack(t.Context(), hub.Ref{Conversation: "c", ID: "id", Asker: process},
			convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Selected: []string{"Yes"}}}}, "editor")
		return err
	}
	require.ErrorIs(t, settle("nobody"), hub.ErrNotAsker)
	require.NoError(t, settle("p"), "its own")
	now := acptest.Must(b.Find("c", "id"))
	require.True(t, now.Open())
	require.Equal(t, second.Revision, now.Revision)
	require.NoError(t, settle("q"))
	_, err := b.TakeBack(t.Context(), as(ask(t, b, "c", "nobody's", "Third?"), "p"), convert.Outcome{Status: convert.Cancelled}, "editor")
	require.NoError(t, err, "who asked it has no name")
}

// What was seen is what is answered, also at a store whose revisions began anew, and where
// the key of one question is that of another one by now.
func TestTheFingerprintIsThatOfWhatWasSeen(t *testing.T) {
	t.Parallel()
	seen := ask(t, open(t, t.TempDir(), hub.Options{}), "c", "1", "Keep it?")
	b, store := openWithStore(t, t.TempDir(), hub.Options{})
	now := ask(t, b, "c", "1", "Delete it?")
	require.Equal(t, seen.Revision, now.Revision)
	r := hub.Ref{Conversation: "c", ID: "1", Revision: seen.Revision, Fingerprint: seen.Fingerprint()}
	require.ErrorIs(t, acptest.Err(b.Answer(t.Context(), r, says("Yes"), "phone")), hub.ErrRevision)
	require.ErrorIs(t, acptest.Err(b.Cancel(t.Context(), r, "phone")), hub.ErrRevision)
	changed := updated(t, b, store, now, "Delete it?", "Burn it?")
	require.ErrorIs(t, acptest.Err(b.Answer(t.Context(), hub.Ref{Conversation: "c", ID: "1", Fingerprint: now.Fingerprint()}, says("Yes"), "phone")), hub.ErrRevision)
	require.NotEqual(t, now.Fingerprint(), changed.Fingerprint())
}

// updated is the one question of a store once another hub has written it as asked an hour
// later, with something else replaced.
func updated(t *testing.T, b *hub.Board, store *hubstore.Store, r *hub.Record, replaced ...string) (now *hub.Record) {
	t.Helper()
	replaced = append(replaced, r.Asked.Format(time.RFC3339Nano), r.Asked.Add(time.Hour).Format(time.RFC3339Nano))
	acptest.Must(store.Update(t.Context(), r.Key(), []byte(strings.NewReplacer(replaced...).Replace(string(entries(t, store)[0].Value))), r.Revision))
	require.Eventually(t, func() bool {
		now, _ = b.Find(r.Conversation, r.ID)
		return now != nil && now.Asked.After(r.Asked)
	}, patience, time.Millisecond)
	return now
}

func TestIDsThatCannotBeKept(t *testing.T) {
	b := boardBeside(t)
	for range 2 {
		require.ErrorIs(t, acptest.Err(b.Ask(t.Context(), asking("\xff", "id", "Go?"))), hub.ErrBadID)
		require.ErrorIs(t, acptest.Err(b.Ask(t.Context(), asking("c", "\xff", "Go?"))), hub.ErrBadID)
	}
}

// entries are what a store has.
func entries(t *testing.T, s *hubstore.Store) (list []hubstore.Entry) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	_ = s.Watch(ctx, func(e hubstore.Entry) { list = append(list, e) }, stop)
	return slices.DeleteFunc(list, func(e hubstore.Entry) bool { return e.Value == nil }) // a mark
}

// An id is used again and again, and what was asked under it is forgotten one by
// one.
func TestAnIDWhoseFirstQuestionIsForgotten(t *testing.T) {
	t.Parallel()
	b, store := openWithStore(t, t.TempDir(), hub.Options{})
	for _, text := range []string{"First?", "Second?"} {
		answer(t, b, ask(t, b, "c", "id", text), "Yes", "phone")
	}
	for _, e := range entries(t, store) {
		if strings.HasSuffix(e.Key, ".0") {
			require.NoError(t, store.Delete(t.Context(), e.Key, e.Revision))
		}
	}
	require.Eventually(t, func() bool { return len(b.Settled("", 10)) == 1 }, patience, time.Millisecond)
	require.True(t, ask(t, b, "c", "id", "Third?").Open())
}

// The order of questions is that of asking, not that of a clock that was set
// back.
func TestAClockThatWasSetBack(t *testing.T) {
	t.Parallel()
	b, store := openWithStore(t, t.TempDir(), hub.Options{})
	first := ask(t, b, "c", "id", "First?")
	updated(t, b, store, first)
	other := ask(t, b, "c", "other", "Other?")
	now := acptest.Must(b.Find("c", ""))
	require.Equal(t, "id", now.ID, "it was asked first")
	answer(t, b, first, "Yes", "phone")
	second := ask(t, b, "c", "id", "Second?")
	now = acptest.Must(b.Find("c", "id"))
	require.Equal(t, second.Revision, now.Revision, "the newest of that id")
	require.True(t, now.Asked.After(other.Asked))
}

// Calls that ask the same at the same moment are a question each, with an id or without:
// words identify nothing.
func TestTheSameAtOnce(t *testing.T) {
	b := boardBeside(t)
	for _, prefix := range []string{"", "toolu_"} {
		ids := make([]string, 16)
		var all sync.WaitGroup
		for i := range ids {
			all.Go(func() {
				a := asking("c"+prefix, prefix, "Go on?")
				if prefix != "" {
					a.Name += strconv.Itoa(i)
				}
				if r, err := b.Ask(t.Context(), a); assert.NoError(t, err) {
					ids[i] = r.ID
				}
			})
		}
		all.Wait()
		slices.Sort(ids)
		require.Len(t, slices.Compact(ids), 16)
	}
}

// Rule 5: what a process asks is taken over when it is gone, once, and not while it
// waits. Two that are there have a question each, with its own answer.
func TestRule5TwoProcessesWithTheSameWords(t *testing.T) {
	b := boardBeside(t)
	first := askBy(t, b, "p", "id1", "Go on?")
	waiting, stop := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		b.Wait(waiting, first)
	}()
	require.Eventually(t, func() bool { return b.Listening(first) == 1 }, patience, time.Millisecond)
	require.NotEqual(t, first.ID, askBy(t, b, "q", "id2", "Go on?").ID, "p is there")
	stop()
	<-left
	for range 2 { // a request is made again and again
		require.Equal(t, first.ID, askBy(t, b, "r", "id1/3", "Go on?").ID, "p is gone")
	}
	require.NotEqual(t, first.ID, askBy(t, b, "r", "id4", "Go on?").ID, "once")
	require.Equal(t, first.ID, askBy(t, b, "r", "id1", "Go on?").ID, "by its id")
	answer(t, b, first, "Yes", "phone")
	require.False(t, askBy(t, b, "r", "id1/3", "Go on?").Open(), "the answer gets there")
}

// One session that is open in two windows asks under one id, twice: each has its own
// question, and what a person answers goes to the one that asked it.
func TestOneSessionInTwoWindows(t *testing.T) {
	b := boardBeside(t)
	wait := func(r *hub.Record) (left func()) {
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); b.Wait(ctx, r) }()
		require.Eventually(t, func() bool { return b.Listening(r) == 1 }, patience, time.Millisecond)
		return func() { stop(); <-done }
	}
	first := askBy(t, b, "p", "id", "Go on?")
	gone := wait(first)
	second := askBy(t, b, "q", "id", "Go on?")
	require.NotEqual(t, first.Key(), second.Key(), "p waits for its own")
	goneToo := wait(second)
	for range 2 { // requests are made again and again
		require.Equal(t, first.Key(), askBy(t, b, "p", "id", "Go on?").Key())
		require.Equal(t, second.Key(), askBy(t, b, "q", "id", "Go on?").Key())
	}
	gone()
	require.Equal(t, second.Key(), askBy(t, b, "q", "id", "Go on?").Key(), "q has one of its own")
	gone = wait(first)

	// Each settles its own, and says of its own what became of it.
	by := func(process string) hub.Ref { return hub.Ref{Conversation: "c", ID: "id", Asker: process} }
	acptest.Must(b.TakeBack(t.Context(), by("p"), convert.Outcome{Status: convert.Cancelled}, "editor"))
	require.True(t, askBy(t, b, "q", "id", "Go on?").Open(), "p's is over")
	require.False(t, askBy(t, b, "p", "id", "Go on?").Open(), "a late request of p asks nothing new")
	answer(t, b, second, "Yes", "phone")
	acptest.Must(b.Consumed(t.Context(), by("q")))
	require.Equal(t, "consumed", acptest.Must(b.FindRef(second.Ref())).End.Receipt())
	gone()
	goneToo()

	// A third window, after that, gets nobody's answer.
	require.True(t, askBy(t, b, "r", "id", "Go on?").Open())
	require.Equal(t, second.Key(), askBy(t, b, "q", "id", "Go on?").Key(), "a late request")
}

// A process that has ended with the outcome, before its agent had it, has a successor
// that gets it, once.
func TestASuccessorHasTheOutcome(t *testing.T) {
	b := boardBeside(t)
	b.UsedWithin(0)
	first := askBy(t, b, "p", "id", "Go on?")
	answer(t, b, first, "Yes", "phone")
	acptest.Must(b.Delivered(t.Context(), as(first, "p")))
	for range 2 { // requests are made again
		got := askBy(t, b, "q", "id", "Go on?")
		require.Equal(t, first.Key(), got.Key())
		require.True(t, takes(t, b, got, "q"))
		got = acptest.Must(b.FindRef(got.Ref()))
		require.Equal(t, "q", got.Asker)
	}
	before := acptest.Must(b.FindRef(first.Ref()))
	acptest.Must(b.Consumed(t.Context(), as(first, "q")))
	require.False(t, takes(t, b, before, "r"), "q was faster")
	require.ErrorIs(t, acptest.Err(b.Ended(t.Context(), as(first, "p"))), hub.ErrNotAsker)
	require.True(t, askBy(t, b, "p", "id", "Go on?").Open(), "p is there after all, and has one of its own")
	require.True(t, askBy(t, b, "r", "id", "Go on?").Open(), "q's agent has it")
	require.Equal(t, first.Key(), askBy(t, b, "q", "id", "Go on?").Key(), "a late request, whatever p has said")
}

// One outcome goes to one process, also at a hub that was started anew or has not heard of
// anybody for long: to the one that has the question, or to whoever is there when that is not.
func TestOneOutcomeOfTwoThatWereAway(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"a hub started anew", "asleep"} {
		for _, order := range []string{"qp", "pq"} {
			t.Run(how+" "+order, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				b, store := openWithStore(t, dir, hub.Options{})
				first := askBy(t, b, "p", "id", "Go on?")
				require.Equal(t, first.Key(), askBy(t, b, "q", "id", "Go on?").Key())
				b.Expire(later())
				answer(t, b, first, "Yes", "phone")
				if how == "asleep" {
					b.Expire(later())
				} else {
					b = reopened(t, b, store, dir, hub.Options{})
				}
				got := askBy(t, b, order[:1], "id", "Go on?")
				require.Equal(t, first.Key(), got.Key())
				require.True(t, takes(t, b, got, order[:1]))
				acptest.Must(b.Consumed(t.Context(), as(got, order[:1])))
				require.True(t, askBy(t, b, order[1:], "id", "Go on?").Open(), "it was used")
			})
		}
	}
}

// Of several processes that have found an outcome at once, one takes it over.
func TestTwoTakeOver(t *testing.T) {
	t.Parallel()
	for _, had := range []bool{true, false} {
		b := open(t, t.TempDir(), hub.Options{})
		first := askBy(t, b, "dead", "id", "Go on?")
		answer(t, b, first, "Yes", "phone")
		if had {
			acptest.Must(b.Delivered(t.Context(), as(first, "dead")))
		}
		b.Expire(later())
		got := make(chan *hub.Record, 2)
		for _, process := range []string{"p", "q"} {
			go func() { got <- askBy(t, b, process, "id", "Go on?") }()
		}
		has := <-got
		require.Equal(t, first.Key(), has.Key())
		require.False(t, has.Open())
		acptest.Must(b.Consumed(t.Context(), as(has, has.Asker)))
		other := <-got
		require.NotEqual(t, has.Asker, other.Asker)
		require.True(t, other.Open(), "the outcome was for one of them")
	}
}

// A process is given an outcome just when its successor takes it over: one of them has it.
func TestGivenWhileItIsTakenOver(t *testing.T) {
	b := boardBeside(t)
	first := askBy(t, b, "p", "id", "Go on?")
	answer(t, b, first, "Yes", "phone")
	b.Expire(later())
	ctx, cancel := context.WithCancel(t.Context())
	a := asking("c", "id/2", "Go on?")
	a.Asker, a.May = "q", func(context.Context) error { // right before it is written
		defer cancel()
		require.True(t, takes(t, b, first, "p"))
		return nil
	}
	got, err := b.Ask(ctx, a)
	require.ErrorIs(t, err, context.Canceled, "p has it: %v", got)
}

// A reply that comes once more is none to what was asked anew under the id: whoever
// means that says which revision they have seen.
func TestAReplySentTwice(t *testing.T) {
	b := boardBeside(t)
	first := ask(t, b, "c", "q1", "Deploy?")
	answer(t, b, first, "Yes", "phone")
	acptest.Must(b.Consumed(t.Context(), first.Ref()))
	repliesAgain(t, b, ask(t, b, "c", "q1", "Deploy?"))
	ask(t, b, "c", "q2", "Run the tests?")
	repliesAgain(t, b, ask(t, b, "c", "q2", "Drop the database?")) // nobody has ended the first
	for i, by := range []string{"editor", ""} {                    // what no reply to the hub has ended may be answered without
		id := fmt.Sprint("q", 3+i)
		acptest.Must(b.TakeBack(t.Context(), ask(t, b, "c", id, "Go?").Ref(), convert.Outcome{Status: convert.Withdrawn}, by))
		require.NoError(t, acptest.Err(b.Answer(t.Context(), ref(ask(t, b, "c", id, "Go?")), says("Yes"), "phone")), by)
	}
}

// repliesAgain sends replies to a question that may be to one before it.
func repliesAgain(t *testing.T, b *hub.Board, second *hub.Record) {
	t.Helper()
	require.True(t, second.Open())
	yes := func(*hub.Record) ([]convert.Answer, error) {
		return []convert.Answer{{Selected: []string{"Yes"}}}, nil
	}
	require.ErrorIs(t, acptest.Err(b.Answer(t.Context(), ref(second), yes, "phone")), hub.ErrSeveral)
	require.ErrorIs(t, acptest.Err(b.Cancel(t.Context(), ref(second), "phone")), hub.ErrSeveral)
	seen := ref(second)
	seen.Revision = second.Revision
	require.False(t, acptest.Must(b.Answer(t.Context(), seen, yes, "phone")).Open())
}

// later is when nobody who asked is there any more.
func later() time.Time { return time.Now().Add(time.Hour) }
