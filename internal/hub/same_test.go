package hub_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

// askBy asks as a process.
func askBy(t *testing.T, b *hub.Board, process, id, text string) *hub.Record {
	t.Helper()
	a := asking("c", id, text)
	a.Asker = process
	r, err := b.Ask(t.Context(), a)
	require.NoError(t, err)
	return r
}

// Permission for one thing does not extend to another, nor that for one call to
// the next, whatever the words are.
func TestPermissionsAreNotShared(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir(), hub.Options{})
	permission := func(id, detail string) *hub.Record {
		a := asking("c", id, "Write notes.txt")
		a.Kind, a.Detail = "permission", detail
		r, err := b.Ask(t.Context(), a)
		require.NoError(t, err)
		return r
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
	t.Parallel()
	b := open(t, t.TempDir(), hub.Options{})
	first, second := askBy(t, b, "p", "id1", "Go on?"), askBy(t, b, "p", "id2", "Go on?")
	require.NotEqual(t, first.ID, second.ID)
	require.Equal(t, first, askBy(t, b, "p", "id1", "Go on?"), "its own id counts first")
	require.Equal(t, second, askBy(t, b, "p", "id2", "Go on?"))

	_, err := b.TakeBack(t.Context(), ref(first), convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Selected: []string{"Yes"}}}}, "editor")
	require.NoError(t, err)
	require.True(t, askBy(t, b, "p", "id2", "Go on?").Open(), "the editor answered the other one")
	answer(t, b, second, "No", "phone")
	third := askBy(t, b, "p", "id3", "Go on?")
	require.True(t, third.Open(), "an answer on its way to another call")
	require.Equal(t, second.ID, askBy(t, b, "q", "id4", "Go on?").ID, "a process that came back has the answer that nobody got")
	require.Equal(t, third.ID, askBy(t, b, "q", "id5", "Go on?").ID, "and then what is open")
}

// A process that is late takes nothing back that another one asks.
func TestOnlyTheAskerTakesBack(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir(), hub.Options{})
	askBy(t, b, "p", "id", "First?")
	second := askBy(t, b, "q", "id", "Second?")
	settle := func(process string) error {
		_, err := b.TakeBack(t.Context(), hub.Ref{Conversation: "c", ID: "id", Asker: process},
			convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Selected: []string{"Yes"}}}}, "editor")
		return err
	}
	require.ErrorIs(t, settle("p"), hub.ErrSettled, "its own is over")
	require.ErrorIs(t, settle("nobody"), hub.ErrNotAsker)
	now, err := b.Find("c", "id")
	require.NoError(t, err)
	require.True(t, now.Open())
	require.Equal(t, second.Revision, now.Revision)
	require.NoError(t, settle("q"))
}

// A process that came back under another id takes its question back.
func TestTheOtherIDOfAQuestion(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir(), hub.Options{})
	old := askBy(t, b, "p", "old", "Go on?")
	require.Equal(t, old.ID, askBy(t, b, "q", "new", "Go on?").ID)
	_, err := b.TakeBack(t.Context(), hub.Ref{Conversation: "c", ID: "new", Asker: "q"}, convert.Outcome{Status: convert.Cancelled}, "editor")
	require.NoError(t, err)
	_, total := b.Waiting(1)
	require.Zero(t, total)
}

// What was seen is what is answered, also at a store whose revisions began anew.
func TestTheFingerprintIsThatOfWhatWasSeen(t *testing.T) {
	t.Parallel()
	seen := ask(t, open(t, t.TempDir(), hub.Options{}), "c", "1", "Keep it?")
	b := open(t, t.TempDir(), hub.Options{})
	now := ask(t, b, "c", "1", "Delete it?")
	require.Equal(t, seen.Revision, now.Revision)
	r := hub.Ref{Conversation: "c", ID: "1", Revision: seen.Revision, Fingerprint: seen.Fingerprint()}
	_, err := b.Answer(t.Context(), r, says("Yes"), "phone")
	require.ErrorIs(t, err, hub.ErrRevision)
	_, err = b.Cancel(t.Context(), r, "phone")
	require.ErrorIs(t, err, hub.ErrRevision)
}

func TestIDsThatCannotBeKept(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir(), hub.Options{})
	for range 2 {
		_, err := b.Ask(t.Context(), asking("\xff", "id", "Go?"))
		require.ErrorIs(t, err, hub.ErrBadID)
		_, err = b.Ask(t.Context(), asking("c", "\xff", "Go?"))
		require.ErrorIs(t, err, hub.ErrBadID)
	}
}

// entries are what a store has.
func entries(t *testing.T, s *hubstore.Store) (list []hubstore.Entry) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	_ = s.Watch(ctx, func(e hubstore.Entry) { list = append(list, e) }, stop)
	return list
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
	asked := make(chan *hub.Record, 1)
	go func() {
		if r, err := b.Ask(context.Background(), asking("c", "id", "Third?")); err == nil {
			asked <- r
		}
	}()
	select {
	case r := <-asked:
		require.True(t, r.Open())
	case <-time.After(patience):
		t.Fatal("it was not asked")
	}
}

// The order of questions is that of asking, not that of a clock that was set
// back.
func TestAClockThatWasSetBack(t *testing.T) {
	t.Parallel()
	b, store := openWithStore(t, t.TempDir(), hub.Options{})
	first := ask(t, b, "c", "id", "First?")
	e := entries(t, store)[0]
	future := first.Asked.Add(time.Hour).Format(time.RFC3339Nano)
	_, err := store.Update(t.Context(), e.Key, []byte(strings.Replace(string(e.Value), first.Asked.Format(time.RFC3339Nano), future, 1)), e.Revision)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		r, err := b.Find("c", "id")
		return err == nil && r.Asked.After(first.Asked)
	}, patience, time.Millisecond)
	other := ask(t, b, "c", "other", "Other?")
	now, err := b.Find("c", "")
	require.NoError(t, err)
	require.Equal(t, "id", now.ID, "it was asked first")
	answer(t, b, first, "Yes", "phone")
	second := ask(t, b, "c", "id", "Second?")
	now, err = b.Find("c", "id")
	require.NoError(t, err)
	require.Equal(t, second.Revision, now.Revision, "the newest of that id")
	require.True(t, now.Asked.After(other.Asked))
}

// Calls without an id that ask the same at the same moment are one that was made
// again. Those with an id each are a question each: words identify nothing.
func TestTheSameAtOnce(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir(), hub.Options{})
	for prefix, want := range map[string]int{"": 1, "toolu_": 16} {
		conversation := "c" + prefix
		const n = 16
		ids := make(chan string, n)
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				a := asking(conversation, prefix, "Go on?")
				if prefix != "" {
					a.Call.ID += strconv.Itoa(i)
				}
				r, err := b.Ask(t.Context(), a)
				if assert.NoError(t, err) {
					ids <- r.ID
				}
			})
		}
		all.Wait()
		require.Len(t, ids, n)
		different := map[string]bool{}
		for range n {
			different[<-ids] = true
		}
		require.Len(t, different, want)
	}
}

// Rule 5: what a process asks is taken over when it is gone, once, and not while it
// waits. Two that are there have a question each, with its own answer.
func TestRule5TwoProcessesWithTheSameWords(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir(), hub.Options{})
	first := askBy(t, b, "p", "id1", "Go on?")
	waiting, stop := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		b.Wait(waiting, first)
	}()
	require.Eventually(t, func() bool { return b.Listening(first) == 1 }, patience, time.Millisecond)
	second := askBy(t, b, "q", "id2", "Go on?")
	require.NotEqual(t, first.ID, second.ID, "p is there")
	unnamed := askBy(t, b, "p", "", "Go on?")
	require.Equal(t, unnamed.ID, askBy(t, b, "p", "", "Go on?").ID, "made again")
	waits, end := context.WithCancel(t.Context())
	defer end()
	go b.Wait(waits, unnamed)
	require.Eventually(t, func() bool { return b.Listening(unnamed) == 1 }, patience, time.Millisecond)
	require.NotEqual(t, unnamed.ID, askBy(t, b, "other", "", "Go on?").ID, "p is there, also without an id")
	stop()
	<-left
	for range 2 { // a request is made again and again
		require.Equal(t, first.ID, askBy(t, b, "r", "id3", "Go on?").ID, "p is gone")
	}
	require.NotEqual(t, first.ID, askBy(t, b, "r", "id4", "Go on?").ID, "once")
	require.Equal(t, first.ID, askBy(t, b, "r", "id1", "Go on?").ID, "by its id")
	answer(t, b, first, "Yes", "phone")
	require.False(t, askBy(t, b, "r", "id3", "Go on?").Open(), "the answer gets there")
}

// Rule 5: until the user's next prompt. The same words after it are another question,
// also if the first one has an answer that nobody took.
func TestRule5NothingIsTakenOverAfterAPrompt(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir(), hub.Options{})
	first := askBy(t, b, "p", "id1", "Go on?")
	answer(t, b, first, "Yes", "phone")
	a := asking("c", "id2", "Go on?")
	a.Asker, a.Prompted = "q", true
	asked, err := b.Ask(t.Context(), a)
	require.NoError(t, err)
	require.Equal(t, "id2", asked.ID)
	require.True(t, asked.Open())
	require.Equal(t, first.ID, askBy(t, b, "q", "id3", "Go on?").ID, "without one it is")
}

// One session that is open in two windows asks under one id, twice: each has its own
// question, and what a person answers goes to the one that asked it.
func TestOneSessionInTwoWindows(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir(), hub.Options{})
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
	_, err := b.TakeBack(t.Context(), by("p"), convert.Outcome{Status: convert.Cancelled}, "editor")
	require.NoError(t, err)
	require.True(t, askBy(t, b, "q", "id", "Go on?").Open(), "p's is over")
	answer(t, b, second, "Yes", "phone")
	_, err = b.Consumed(t.Context(), by("q"))
	require.NoError(t, err)
	over, err := b.FindKey(t.Context(), second.Key())
	require.NoError(t, err)
	require.Equal(t, "consumed", over.End.Receipt())
	gone()
	goneToo()

	// A third window, after that, gets nobody's answer.
	third := askBy(t, b, "r", "id", "Go on?")
	require.True(t, third.Open())
	require.Equal(t, second.Key(), askBy(t, b, "q", "id", "Go on?").Key(), "a late request")
}

// A process that has ended with the outcome, before its agent had it, has a successor
// that gets it, once.
func TestASuccessorHasTheOutcome(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir(), hub.Options{})
	b.UsedWithin(0)
	first := askBy(t, b, "p", "id", "Go on?")
	answer(t, b, first, "Yes", "phone")
	as := func(process string) hub.Ref {
		ref := first.Ref()
		ref.Asker = process
		return ref
	}
	_, err := b.Delivered(t.Context(), as("p"))
	require.NoError(t, err)
	for range 2 { // requests are made again
		got := askBy(t, b, "q", "id", "Go on?")
		require.Equal(t, first.Key(), got.Key())
		mine, err := b.TakeOver(t.Context(), got, as("q"))
		require.NoError(t, err)
		require.True(t, mine)
		got, err = b.FindKey(t.Context(), got.Key())
		require.NoError(t, err)
		require.Equal(t, "q", got.End.Taker)
	}
	require.True(t, askBy(t, b, "p", "id", "Go on?").Open(), "p is there after all, and has one of its own")
	before, err := b.FindKey(t.Context(), first.Key())
	require.NoError(t, err)
	_, err = b.Consumed(t.Context(), as("q"))
	require.NoError(t, err)
	mine, err := b.TakeOver(t.Context(), before, as("r"))
	require.NoError(t, err)
	require.False(t, mine, "q was faster")
	_, err = b.Ended(t.Context(), as("p"))
	require.NoError(t, err)
	require.True(t, askBy(t, b, "r", "id", "Go on?").Open(), "q's agent has it")
	require.Equal(t, first.Key(), askBy(t, b, "q", "id", "Go on?").Key(), "a late request, whatever p has said")
}

// One outcome goes to one process, also at a hub that was started anew or has not heard of
// anybody for long: to the one that asked last. One that asked before has its own.
func TestOneOutcomeOfTwoThatWereAway(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"a hub started anew", "asleep"} {
		for _, order := range []string{"qp", "pq"} {
			for _, p := range []string{"asks", "is away"} {
				t.Run(how+" "+order+" "+p, func(t *testing.T) {
					t.Parallel()
					dir := t.TempDir()
					b, store := openWithStore(t, dir, hub.Options{})
					first := askBy(t, b, "p", "id", "Go on?")
					require.Equal(t, first.Key(), askBy(t, b, "q", "id", "Go on?").Key())
					var second *hub.Record
					if p == "asks" {
						second = askBy(t, b, "p", "id", "Go on?")
					}
					b.Expire(later())
					answer(t, b, first, "Yes", "phone")
					if how == "asleep" {
						b.Expire(later())
					} else {
						b.Close()
						store.Close()
						b = open(t, dir, hub.Options{})
					}
					for _, process := range order {
						got := askBy(t, b, string(process), "id", "Go on?")
						switch {
						case process == 'q':
							require.Equal(t, first.Key(), got.Key())
							mine, err := b.TakeOver(t.Context(), got, as(got, "q"))
							require.NoError(t, err)
							require.True(t, mine)
						case second != nil:
							require.Equal(t, second.Key(), got.Key())
						default:
							require.True(t, got.Open())
						}
					}
				})
			}
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
			_, err := b.Delivered(t.Context(), as(first, "dead"))
			require.NoError(t, err)
		}
		b.Expire(later())
		one, other := askBy(t, b, "p", "id", "Go on?"), askBy(t, b, "q", "id", "Go on?")
		require.Equal(t, one.Key(), other.Key())
		for _, process := range []string{"p", "q"} {
			mine, err := b.TakeOver(t.Context(), one, as(one, process))
			require.NoError(t, err)
			require.Equal(t, process == "p", mine, process)
		}
	}
}

// That a process had an outcome may be noted when it is gone, and its successor has found it.
func TestTakenOverWhileTheDeliveryIsNoted(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir(), hub.Options{})
	first := askBy(t, b, "dead", "id", "Go on?")
	answer(t, b, first, "Yes", "phone")
	b.Expire(later())
	b.Expire(later())
	found := askBy(t, b, "p", "id", "Go on?")
	_, err := b.Delivered(t.Context(), as(first, "dead"))
	require.NoError(t, err)
	mine, err := b.TakeOver(t.Context(), found, as(first, "p"))
	require.NoError(t, err)
	require.True(t, mine)
}

// A reply that comes once more is none to what was asked anew under the id: whoever
// means that says which revision they have seen.
func TestAReplySentTwice(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir(), hub.Options{})
	first := ask(t, b, "c", "q1", "Deploy?")
	answer(t, b, first, "Yes", "phone")
	_, err := b.Consumed(t.Context(), first.Ref())
	require.NoError(t, err)
	second := ask(t, b, "c", "q1", "Deploy?")
	require.True(t, second.Open())
	yes := func(*hub.Record) ([]convert.Answer, error) {
		return []convert.Answer{{Selected: []string{"Yes"}}}, nil
	}
	_, err = b.Answer(t.Context(), ref(second), yes, "phone")
	require.ErrorIs(t, err, hub.ErrSeveral)
	_, err = b.Cancel(t.Context(), ref(second), "phone")
	require.ErrorIs(t, err, hub.ErrSeveral)
	seen := ref(second)
	seen.Revision = second.Revision
	now, err := b.Answer(t.Context(), seen, yes, "phone")
	require.NoError(t, err)
	require.False(t, now.Open())
}
