package hub_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/hub"
)

// A request of a process that died, whose successor has the outcome since, opens the
// question for nobody: it ends with its connection. One that is there has its own.
func TestALateRequestOfTheDead(t *testing.T) {
	t.Parallel()
	for _, stage := range []string{"taken", "used", "past"} {
		t.Run(stage, func(t *testing.T) {
			t.Parallel()
			board := open(t, t.TempDir(), hub.Options{})
			a := asking("c", "q", "Go?")
			a.Asker = "first"
			r := askBy(t, board, "first", "q", "Go?")
			require.Equal(t, r.Key(), askBy(t, board, "resumed", "q", "Go?").Key())
			ref := as(answer(t, board, r, "Yes", "me"), "resumed")
			acptest.Must(board.Delivered(t.Context(), ref))
			if stage != "taken" {
				acptest.Must(board.Consumed(t.Context(), ref))
			}
			if stage == "past" {
				board.Expire(later())
			}
			dies, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			require.ErrorIs(t, acptest.Err(board.Ask(dies, a)), context.DeadlineExceeded)
			open, _ := board.Waiting(10)
			require.Empty(t, open)
			if stage == "taken" {
				acptest.Must(board.Consumed(t.Context(), ref))
			}
			require.True(t, askBy(t, board, "first", "q", "Go?").Open())
		})
	}
}

// A request that stood still while it was written, at a hub that could not reach the
// others, opens nothing when it is gone by then: not even where others have asked,
// answered and used the question meanwhile.
func TestARequestThatHungUpMeanwhile(t *testing.T) {
	t.Parallel()
	url := natsServer(t)
	elsewhere, here := boardAt(t, url, hub.Options{}), boardAt(t, url, hub.Options{Lease: 4 * time.Millisecond}) // it stands still for longer than a moment
	ctx, hangUp := context.WithCancel(t.Context())
	a, resumed := asking("c", "q", "Go?"), asking("c", "q", "Go?")
	a.Asker, resumed.Asker = "first", "resumed"
	late := a
	var once sync.Once
	late.May = func(context.Context) error {
		once.Do(func() {
			defer hangUp()
			r := acptest.Must(elsewhere.Ask(t.Context(), a))
			acptest.Must(elsewhere.Ask(t.Context(), resumed))
			answer(t, elsewhere, r, "Yes", "me")
			acptest.Must(elsewhere.Consumed(t.Context(), as(r, "resumed")))
		})
		return nil
	}
	require.ErrorIs(t, acptest.Err(here.Ask(ctx, late)), context.Canceled)
	require.NoError(t, here.CatchUp(t.Context()))
	open, _ := here.Waiting(10)
	require.Empty(t, open)
}

// A process takes back what it has still when that is written: not what another one has taken
// over meanwhile, nor the answer that this one waits for.
func TestAPredecessorTakesBack(t *testing.T) {
	t.Parallel()
	for _, answered := range []bool{false, true} {
		board := open(t, t.TempDir(), hub.Options{})
		r := askBy(t, board, "first", "q", "Go?")
		late, once := as(r, "first"), sync.Once{}
		late.May = func(context.Context) error {
			once.Do(func() {
				if askBy(t, board, "resumed", "q", "Go?"); answered {
					answer(t, board, r, "Yes", "me")
				}
			})
			return nil
		}
		require.ErrorIs(t, acptest.Err(board.TakeBack(t.Context(), late, convert.Outcome{Status: convert.Withdrawn}, "")), hub.ErrNotAsker)
		now := acptest.Must(board.FindRef(r.Ref()))
		require.Equal(t, !answered, now.Open())
		require.True(t, takes(t, board, answer(t, board, now, "Yes", "me"), "resumed"))
	}
}

// An answer that was accepted here, and had its end elsewhere before, says why it came
// too late, in words for who gave it.
func TestTooLateSaysWhy(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		o  convert.Outcome
		by string
	}{
		"it was answered elsewhere before, by editor":                {convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{{Text: "No"}}}, "editor"},
		"it came too late: it was answered in the terminal":          {convert.Outcome{Status: convert.Failed, Reason: "it was answered in\nthe terminal"}, ""},
		"it came too late: it was no longer open where it was asked": {convert.Outcome{Status: convert.Cancelled}, ""},
	} {
		board := open(t, t.TempDir(), hub.Options{})
		r := acptest.Must(board.Ask(t.Context(), asking("c", "q", "Go?")))
		acptest.Must(board.Answer(t.Context(), r.Ref(), func(*hub.Record) ([]convert.Answer, error) { return []convert.Answer{{Text: "Yes"}}, nil }, "me"))
		require.ErrorIs(t, acptest.Err(board.TakeBack(t.Context(), r.Ref(), c.o, c.by)), hub.ErrSettled)
		now := acptest.Must(board.FindRef(r.Ref()))
		require.Equal(t, want, now.End.Undelivered)
		require.Equal(t, "Yes", now.End.Answers[0].Text)
	}
}
