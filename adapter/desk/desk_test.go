package desk_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
	"github.com/acp-bridge/acp-bridge/internal/life"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var features = convert.Question{Text: "Which?", MultiSelect: true, Options: []convert.Option{{Label: "Auth"}, {Label: "Logs"}}}

func post(t testing.TB, d *desk.Desk, session, id string) *desk.Ticket {
	ticket := d.Post(t.Context(), desk.Item{Name: session + "/" + id, Kind: desk.Question, Call: convert.Call{Session: session, ID: id, Questions: []convert.Question{features}}})
	t.Cleanup(ticket.Leave)
	return ticket
}

func question(session, id string) convert.Call {
	return convert.Call{Session: session, ID: id, Questions: []convert.Question{{Text: "Which?"}}}
}

func picks(labels ...string) []convert.Answer { return []convert.Answer{{Selected: labels}} }

// An answer that does not fit leaves the question open; one that does is in the
// order of the options, and is the only one.
func TestAnswer(t *testing.T) {
	d, name := new(desk.Desk), "s/q"
	require.ErrorIs(t, d.Answer(name, picks("Auth"), "phone"), desk.ErrNotOpen)
	ticket := post(t, d, "s", "q")
	require.ErrorIs(t, d.Answer(name, picks("Oracle"), "phone"), convert.ErrFailed)
	require.ErrorIs(t, d.Answer(name, nil, "phone"), convert.ErrFailed)
	require.Len(t, d.List(), 1)
	require.NoError(t, ticket.Context().Err())

	require.NoError(t, d.Answer(name, picks("Logs", "Auth"), "phone"))
	require.Empty(t, d.List())
	require.ErrorIs(t, context.Cause(ticket.Context()), desk.ErrSettled)
	require.Equal(t, life.Elsewhere{Outcome: "answered", By: "phone"}, context.Cause(ticket.Context()))
	stands, first := ticket.Settle(convert.Outcome{Status: convert.Cancelled}, "editor")
	require.False(t, first)
	require.Equal(t, convert.Outcome{Status: convert.Answered, Answers: picks("Auth", "Logs")}, stands)

	for _, late := range []error{d.Answer(name, picks("Logs"), "terminal"), d.Cancel(name, "terminal")} {
		require.ErrorIs(t, late, desk.ErrSettled)
		require.ErrorContains(t, late, "settled already: answered by phone at 20")
	}
}

// An item has a rule of its own beyond those of its call.
func TestCheck(t *testing.T) {
	errShort := errors.New("too short")
	d := new(desk.Desk)
	ticket := d.Post(t.Context(), desk.Item{
		Name: "form", Kind: desk.Form, Call: question("s", "q"),
		Check: func(a []convert.Answer) error {
			if len(a[0].Text) < 3 {
				return errShort
			}
			return nil
		},
	})
	defer ticket.Leave()
	require.ErrorIs(t, d.Answer("form", []convert.Answer{{Text: "no"}}, ""), errShort)
	require.NoError(t, d.Answer("form", []convert.Answer{{Text: "yes"}}, ""))
}

// What is answered is what was seen: an item that the agent asks under the id of another
// one, at the same time or after it, is another one.
func TestNames(t *testing.T) {
	d := new(desk.Desk)
	item := desk.Item{Call: question("s", "q")}
	first, second := d.Post(t.Context(), item), d.Post(t.Context(), item)
	yes := []convert.Answer{{Text: "yes"}}
	require.ErrorIs(t, d.Answer("q", yes, "phone"), desk.ErrNotOpen, "an agent's id names nothing")
	require.NoError(t, d.Answer(first.Item().Name, yes, "phone"))
	require.NoError(t, second.Context().Err())
	first.Leave()
	third := d.Post(t.Context(), item)
	require.Len(t, d.List(), 2)
	require.ErrorIs(t, d.Answer(first.Item().Name, yes, "phone"), desk.ErrSettled)
	require.NoError(t, d.Cancel(third.Item().Name, "phone"))
	require.NoError(t, second.Context().Err())
	item.Name = second.Item().Name
	require.NotEqual(t, item.Name, d.Post(t.Context(), item).Item().Name, "no two that are open have one name")
	require.NoError(t, d.Answer(item.Name, yes, "phone"))
	require.Error(t, second.Context().Err())
}

// An item that its asker has given up does not stand in the way of one with the
// same id, whoever comes first.
func TestGivenUpAndPostedAgain(t *testing.T) {
	d := new(desk.Desk)
	ctx, cancel := context.WithCancel(t.Context())
	old := d.Post(ctx, desk.Item{Call: question("s", "a")})
	require.NoError(t, old.Turn())
	cancel()
	next := post(t, d, "s", "a")
	require.Equal(t, "a", next.Item().Call.ID, "editors know it by that")
	require.NotEqual(t, "a", post(t, d, "s", "a").Item().Call.ID)
	old.Leave()
	require.NoError(t, next.Turn(), "the old one is off the screen")
	require.Len(t, d.List(), 2)
}

// How an item ended is told to those who come late, for a while.
func TestLate(t *testing.T) {
	d := new(desk.Desk)
	for i := range 65 {
		ticket := post(t, d, "s", fmt.Sprint(i))
		ticket.Settle(convert.Outcome{Status: convert.Declined}, "editor")
		ticket.Leave()
	}
	require.ErrorIs(t, d.Cancel("s/0", ""), desk.ErrNotOpen)
	require.ErrorIs(t, d.Cancel("s/1", ""), desk.ErrSettled)
	require.ErrorIs(t, d.Cancel("s/64", ""), desk.ErrSettled)
	require.ErrorIs(t, d.Cancel("other/64", ""), desk.ErrNotOpen)
}

// The list has everything that is open, with its place and how it is asked.
func TestList(t *testing.T) {
	d := new(desk.Desk)
	first, other := post(t, d, "s", "z"), post(t, d, "other", "y")
	post(t, d, "s", "x")
	require.NoError(t, first.Turn())
	first.Asking(0, "form")
	other.Settle(convert.Outcome{Status: convert.Answered, Answers: picks("Auth")}, "editor")
	other.Asking(0, "form")
	list := d.List()
	require.Len(t, list, 2)
	for i, want := range []string{"z asking 0 form", "x queued 1 "} {
		e := list[i]
		require.Equal(t, want, fmt.Sprintf("%s %s %d %s", e.Call.ID, e.State, e.Place, e.Rung))
		require.WithinDuration(t, time.Now(), e.Asked, time.Minute)
	}
}

// When the asker's context ends, its turn does not come, and its question stays
// open until it says how that ended.
func TestContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, gone := new(desk.Desk), errors.New("gone")
		first := post(t, d, "s", "first")
		ctx, cancel := context.WithCancelCause(t.Context())
		second := d.Post(ctx, desk.Item{Name: "s/second", Call: question("s", "second")})
		third := post(t, d, "s", "third")
		turns := make(chan error, 1)
		go func() { turns <- second.Turn() }()
		synctest.Wait()
		cancel(gone)
		require.ErrorIs(t, <-turns, gone)
		require.Len(t, d.List(), 3)
		require.NoError(t, d.Answer("s/second", []convert.Answer{{Text: "yes"}}, ""), "an answer that comes first stands")
		stands, _ := second.Settle(convert.Outcome{Status: convert.Cancelled}, "")
		require.Equal(t, convert.Answered, stands.Status)
		second.Leave()
		first.Leave()
		require.NoError(t, third.Turn())
	})
}

// The next item has its turn when the one before it has left, not when it has
// its outcome: it may still be on a screen.
func TestLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := new(desk.Desk)
		first, second := post(t, d, "s", "first"), post(t, d, "s", "second")
		require.NoError(t, first.Turn())
		came := make(chan struct{})
		go func() {
			defer close(came)
			require.NoError(t, second.Turn())
		}()
		first.Settle(convert.Outcome{Status: convert.Answered, Answers: picks("Auth")}, "editor")
		synctest.Wait()
		select {
		case <-came:
			t.Fatal("the first is not gone yet")
		default:
		}
		first.Leave()
		<-came
		first.Leave()
	})
}

// A cancel ends one item. What waits behind it has its turn.
func TestCancel(t *testing.T) {
	d := new(desk.Desk)
	first, second, other := post(t, d, "s", "first"), post(t, d, "s", "second"), post(t, d, "other", "q")
	require.NoError(t, first.Turn())
	require.NoError(t, d.Cancel("s/first", "phone"))
	require.NoError(t, other.Turn())
	first.Leave()
	require.NoError(t, second.Turn())
}

// What has ended before its turn came keeps nobody waiting, whatever its asker does.
func TestEndedBeforeItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := new(desk.Desk)
		first, _, third := post(t, d, "s", "first"), post(t, d, "s", "second"), post(t, d, "s", "third")
		require.NoError(t, first.Turn())
		require.NoError(t, d.Cancel("s/second", "phone"))
		first.Leave()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		turn := make(chan error, 1)
		go func() { turn <- third.Turn() }()
		select {
		case err := <-turn:
			require.NoError(t, err)
		case <-ctx.Done():
			t.Error("the third has no turn")
		}
	})
}

// An item that has its outcome is not asked any more, whatever its asker says.
func TestAskingAfterTheEnd(t *testing.T) {
	d := new(desk.Desk)
	var last desk.State
	d.Watch(func(e desk.Entry) { last = e.State })
	a := post(t, d, "s", "a")
	require.NoError(t, a.Turn())
	require.NoError(t, d.Answer("s/a", picks("Auth"), "phone"))
	a.Asking(0, "permission")
	stands, first := a.Settle(convert.Outcome{Status: convert.Cancelled}, "editor")
	require.False(t, first)
	require.Equal(t, picks("Auth"), stands.Answers)
	require.Equal(t, desk.Settled, last)
}

// A watcher sees what is open and then every change, may use the desk, and is
// left alone after it stopped.
func TestWatch(t *testing.T) {
	d := new(desk.Desk)
	one := post(t, d, "s", "one")
	var seen []string
	stop := d.Watch(func(e desk.Entry) {
		seen = append(seen, fmt.Sprint(e.Call.ID, " ", e.State, " ", e.By))
		if e.Call.ID == "two" && e.State == desk.Queued {
			require.Len(t, d.List(), 2)
			require.NoError(t, d.Answer("s/two", picks("Auth"), "robot"))
			seen = append(seen, "answered")
		}
	})
	require.Equal(t, []string{"one queued "}, seen)
	post(t, d, "s", "two")
	require.NoError(t, one.Turn())
	one.Asking(0, "form")
	require.Equal(t, []string{"one queued ", "two queued ", "answered", "two settled robot", "one asking "}, seen)
	stop()
	one.Settle(convert.Outcome{Status: convert.Cancelled}, "editor")
	require.Len(t, seen, 5)
}

// Turns that end and receipts are told in order to those who watch them, also if whoever
// tells them holds a lock that a watcher takes, and no longer to those who stopped.
func TestWatchTurnsAndReceipts(t *testing.T) {
	d := new(desk.Desk)
	var mu sync.Mutex
	told, other := make(chan string, 10), make(chan string, 10)
	say := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		told <- what
	}
	lost := errors.New("lost")
	stops := []func(){
		d.WatchTurns(func(turn desk.Turn) { say(fmt.Sprint(turn.Session, " ", turn.Err)) }),
		d.WatchReceipts(func(name string, err error) { say(fmt.Sprint(name, " ", err)) }),
	}
	defer d.WatchTurns(func(turn desk.Turn) { other <- turn.Session })()
	mu.Lock()
	d.EndTurn(desk.Turn{Session: "s"})
	d.Receipt("s/one", nil)
	d.Receipt("s/two", lost)
	d.EndTurn(desk.Turn{Session: "t", Err: lost})
	mu.Unlock()
	for _, want := range []string{"s <nil>", "s/one <nil>", "s/two lost", "t lost"} {
		require.Equal(t, want, <-told)
	}
	for _, stop := range stops {
		stop()
	}
	d.Receipt("s/three", nil)
	d.EndTurn(desk.Turn{Session: "u"})
	for _, want := range []string{"s", "t", "u"} {
		require.Equal(t, want, <-other)
	}
	require.Empty(t, told)
}

// Whoever places an item may hold a lock that a watcher takes: nobody is told before
// its turn, also while that waits.
func TestPlace(t *testing.T) {
	d := new(desk.Desk)
	var mu sync.Mutex
	told := make(chan string, 10)
	defer d.Watch(func(e desk.Entry) {
		mu.Lock()
		defer mu.Unlock()
		told <- e.Call.ID
	})()
	tickets := map[string]*desk.Ticket{}
	mu.Lock()
	for _, id := range []string{"one", "two"} {
		tickets[id] = d.Place(t.Context(), desk.Item{Kind: desk.Form, Call: question("s", id)})
	}
	mu.Unlock()
	require.Empty(t, told)
	turn := make(chan error)
	go func() { turn <- tickets["two"].Turn() }()
	require.Equal(t, "one", <-told)
	require.Equal(t, "two", <-told)
	tickets["one"].Leave()
	require.NoError(t, <-turn)
}

// A watcher that stops itself while changes wait gets none of them, and is not kept.
func TestWatchStops(t *testing.T) {
	d := new(desk.Desk)
	post(t, d, "s", "one")
	post(t, d, "s", "two")
	var kept weak.Pointer[[64]int]
	joins := sync.OnceFunc(func() {
		n := new([64]int)
		kept = weak.Make(n)
		d.Watch(func(desk.Entry) { t.Error("it is told", n) })()
	})
	d.Watch(func(desk.Entry) { joins() }) // it tells while the other one joins
	require.Eventually(t, func() bool { runtime.GC(); return kept.Value() == nil }, time.Minute, time.Millisecond)
	runtime.KeepAlive(d)
}

// A watcher that panics does not keep others from being told.
func TestWatchPanics(t *testing.T) {
	d, n := new(desk.Desk), 0
	stop := d.Watch(func(desk.Entry) { panic("no") })
	require.Panics(t, func() { post(t, d, "s", "one") })
	stop()
	d.Watch(func(desk.Entry) { n++ })
	require.Equal(t, 1, n)
	require.NoError(t, d.Cancel("s/one", ""))
	require.Equal(t, 2, n)
}

// Many askers and people at once: every change is told, in order, and nothing is
// left.
func TestStress(t *testing.T) {
	d := new(desk.Desk)
	last := map[string]desk.State{} // of the watcher, which is called one at a time
	d.Watch(func(e desk.Entry) {
		if e.State < last[e.Name] {
			t.Errorf("%s: %s after %s", e.Name, e.State, last[e.Name])
		}
		last[e.Name] = e.State
	})
	var all sync.WaitGroup
	for g := range 16 {
		all.Go(func() {
			session := fmt.Sprint("s", g%4)
			for i := range 200 {
				id := fmt.Sprint(g, "-", i)
				ctx, cancel := context.WithCancel(t.Context())
				ticket := d.Post(ctx, desk.Item{Kind: desk.Kind(1 + i%3), Call: question(session, id)})
				all.Go(func() { _ = d.Answer(ticket.Item().Name, []convert.Answer{{Text: "yes"}}, "") })
				if i%5 == 0 {
					all.Go(cancel)
				}
				if ticket.Turn() == nil {
					ticket.Asking(0, "form")
				}
				ticket.Settle(convert.Outcome{Status: []convert.Status{convert.Answered, convert.Cancelled, convert.Failed}[i%3]}, "")
				ticket.Leave()
				cancel()
			}
		})
	}
	all.Wait()
	require.Empty(t, d.List())
	require.Len(t, last, 16*200)
	for name, state := range last {
		require.Equal(t, desk.Settled, state, name)
	}
}

// Whoever was asked the same learns that it was answered elsewhere, also if nobody says by
// whom; of what nobody has said anything to, that it is settled.
func TestSettledByNobodyWithAName(t *testing.T) {
	d := new(desk.Desk)
	answered, dismissed := post(t, d, "s1", "q"), post(t, d, "s2", "q")
	require.NoError(t, d.Answer("s1/q", picks("Auth"), ""))
	require.Equal(t, life.Elsewhere{Outcome: "answered"}, context.Cause(answered.Context()))
	require.NoError(t, d.Cancel("s2/q", ""))
	require.Equal(t, life.Elsewhere{Outcome: "cancelled"}, context.Cause(dismissed.Context()))
	withdrawn := post(t, d, "s3", "q")
	withdrawn.Settle(life.WithAnother, "phone")
	require.Equal(t, desk.ErrSettled, context.Cause(withdrawn.Context()))
}
