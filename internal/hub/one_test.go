package hub_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// takes has a process take an outcome that it has waited for.
func takes(t *testing.T, b *hub.Board, r *hub.Record, process string) bool {
	t.Helper()
	return acptest.Must(b.Take(t.Context(), r, as(r, process)))
}

// waits has a process ask what another one has the outcome of, in the same words under a name
// of its own: it gets nothing yet.
func waits(t *testing.T, b *hub.Board, process string) {
	t.Helper()
	a := asking("c", "id/"+process, "Go on?")
	a.Asker = process
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, acptest.Err(b.Ask(ctx, a)), context.DeadlineExceeded)
	require.ErrorIs(t, acptest.Err(b.Left(ctx, a)), context.DeadlineExceeded, "nor does it find it")
}

// A process that has an outcome, and has not said yet that it used it, is the only one that
// has it: whoever asks the same waits for that, at any hub, and after a crash of the hub.
func TestOnlyOneHasTheOutcome(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"here", "at another hub", "here, and noted", "at a hub started anew"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			dir, o := t.TempDir(), hub.Options{Lease: time.Hour}
			b, store := openWithStore(t, dir, o)
			there := b
			if where == "at another hub" {
				b, there = elsewhere(t, o)
			}
			first := askBy(t, b, "p", "id", "Go on?")
			answered := answer(t, b, first, "Yes", "phone")
			require.True(t, takes(t, b, answered, "p"))
			switch where {
			case "here, and noted":
				noted := acptest.Must(b.Delivered(t.Context(), as(answered, "p")))
				require.Equal(t, "delivered", noted.End.Receipt())
			case "at a hub started anew":
				b = reopened(t, b, store, dir, o)
				there = b
			}
			there.UsedWithin(time.Hour)
			there.Expire(later()) // it may say nothing for long
			waits(t, there, "q")
			require.ErrorIs(t, acptest.Err(there.Claim(t.Context(), as(answered, "q"))), hub.ErrNotAsker)
			require.Equal(t, first.Key(), askBy(t, there, "p", "id", "Go on?").Key(), "a request made again")
			asked := make(chan *hub.Record)
			go func() { asked <- askBy(t, there, "q", "id", "Go on?") }()
			acptest.Must(b.Consumed(t.Context(), as(answered, "p")))
			require.True(t, (<-asked).Open(), "as soon as p has used it")
		})
	}
}

// One that died with it, also if that is noted, has a successor, which finds it before it asks.
func TestWhoDiedWithTheOutcome(t *testing.T) {
	b := boardBeside(t)
	answered := answer(t, b, askBy(t, b, "p", "id", "Go on?"), "Yes", "phone")
	require.True(t, takes(t, b, answered, "p"))
	acptest.Must(b.Delivered(t.Context(), as(answered, "p")))
	waits(t, b, "q")
	b.UsedWithin(time.Millisecond)
	a := asking("c", "id", "Go on?")
	a.Asker = "q"
	require.Equal(t, answered.Key(), acptest.Must(b.Left(t.Context(), a)).Key())
	got := askBy(t, b, "q", "id", "Go on?")
	require.Equal(t, answered.Key(), got.Key())
	b.UsedWithin(time.Hour)
	b.Expire(later())
	waits(t, b, "r")
	require.True(t, takes(t, b, got, "q"))
	require.False(t, takes(t, b, answered, "p"))
	require.Equal(t, "s", acptest.Must(b.Consumed(t.Context(), as(got, "s"))).Asker, "its agent has it")
}

// That a process has an outcome may be noted at the moment in which its successor takes it
// over. That is no other process that was faster: it had it before.
func TestWhoDiedWithTheOutcomeIsNotedLate(t *testing.T) {
	b := boardBeside(t)
	answered := answer(t, b, askBy(t, b, "p", "id", "Go on?"), "Yes", "phone")
	require.True(t, takes(t, b, answered, "p"))
	b.UsedWithin(time.Millisecond)
	successor, noted := asking("c", "id", "Go on?"), false
	successor.Asker = "q"
	successor.May = func(ctx context.Context) error { // just before it is written
		if noted {
			return nil
		}
		noted = true
		_, err := b.Delivered(ctx, as(answered, "p"))
		return err
	}
	got := acptest.Must(b.Ask(t.Context(), successor))
	require.True(t, noted)
	require.Equal(t, answered.Key(), got.Key())
	require.True(t, takes(t, b, got, "q"))
	require.False(t, takes(t, b, answered, "p"))
	require.Equal(t, answered.Key(), askBy(t, b, "q", "id", "Go on?").Key(), "it is not asked again")
}

// What nobody was given is there at once, also at a hub that begins: those that share its store
// have noted whom they gave something.
func TestAHubThatBeginsBesideOthers(t *testing.T) {
	t.Parallel()
	url := natsServer(t)
	answered := answer(t, boardAt(t, url, hub.Options{}), askBy(t, boardAt(t, url, hub.Options{}), "p", "id", "Go on?"), "Yes", "phone")
	b := boardAt(t, url, hub.Options{})
	b.UsedWithin(time.Hour)
	require.Equal(t, answered.Key(), askBy(t, b, "q", "id", "Go on?").Key())
}

// Two processes wait at two hubs, of which one has not heard of the other: the one that took
// the question over has the outcome.
func TestTwoWaitAtTwoHubs(t *testing.T) {
	t.Parallel()
	for _, order := range []string{"pq", "qp"} {
		one, two := elsewhere(t, hub.Options{Lease: 200 * time.Millisecond}) // so soon it is known that p is not there
		one.Deaf()
		first := askBy(t, one, "p", "id", "Go on?")
		require.NoError(t, two.CatchUp(t.Context()))
		require.Equal(t, first.Key(), askBy(t, two, "q", "id", "Go on?").Key())
		answer(t, two, first, "Yes", "phone")
		at := map[rune]*hub.Board{'p': one, 'q': two}
		seen := map[rune]*hub.Record{'p': one.Wait(t.Context(), first), 'q': two.Wait(t.Context(), first)}
		for i, process := range order {
			require.Equal(t, process == 'q', takes(t, at[process], seen[process], string(process)), "%d of %s", i, order)
		}
	}
}

// Whoever has no name is not one that has, and one device is not another: each has its own
// question, whoever asks first.
func TestOneWithANameAndOneWithout(t *testing.T) {
	t.Parallel()
	named := asking("c", "id", "Go on?")
	named.Asker, named.Device = "p", "laptop"
	unnamed, elsewhere := named, named
	unnamed.Asker, elsewhere.Device = "", "server"
	for _, two := range [][2]hub.Asking{{named, unnamed}, {unnamed, named}, {named, elsewhere}} {
		b, keys := open(t, t.TempDir(), hub.Options{}), [4]string{}
		for i := range keys {
			keys[i] = acptest.Must(b.Ask(t.Context(), two[i%2])).Key()
		}
		require.NotEqual(t, keys[0], keys[1])
		require.Equal(t, keys[:2], keys[2:], "asked again")
	}
}
