package desk

import (
	"context"
	"time"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/life"
)

// Ticket is the asker's hold on an item.
type Ticket struct {
	desk   *Desk
	item   Item
	serial uint64 // later ones have higher ones
	asked  time.Time
	ctx    context.Context
	cancel context.CancelCauseFunc
	first  chan struct{} // closed when the item is the first of its session

	// Of the desk's table.
	life     life.State
	shown    bool // Turn has let the asker go ahead
	question int
	rung     string
	end      Settlement
}

// Turn waits until the item is the first of its session. It returns the cause
// of the ticket's context if that ends before: [ErrSettled] if the item was
// settled. After an error nothing may be shown.
func (t *Ticket) Turn() error {
	select {
	case <-t.first: // as nearly always
	default:
		t.desk.step(true, func(*table) {})
		select {
		case <-t.first:
		case <-t.ctx.Done():
		}
	}
	// The asker may go ahead, unless the item is at its end.
	ahead := false
	t.desk.step(true, func(*table) {
		ahead = t.ctx.Err() == nil
		t.shown = t.shown || ahead
	})
	if !ahead {
		return context.Cause(t.ctx)
	}
	return nil
}

// Context ends with the context that was given to [Desk.Post], and when the
// item is settled, then with [ErrSettled] as its cause.
func (t *Ticket) Context() context.Context { return t.ctx }

// Item returns what was posted.
func (t *Ticket) Item() Item { return t.item }

// waits reports whether the agent has asked the item under an id and still waits for it.
func (t *Ticket) waits(id string) bool {
	return t.item.Call.ID == id && t.life.Open() && t.ctx.Err() == nil
}

// Asking tells watchers which question is in front of the user, and how.
func (t *Ticket) Asking(question int, rung string) {
	t.desk.step(true, func(on *table) {
		shown, err := t.life.Step(life.Show)
		if err != nil {
			return // it has its end
		}
		t.life, t.question, t.rung = shown, question, rung
		on.changed(t)
	})
}

// Settle gives the item an outcome, unless it has one. It returns the outcome
// that stands and whether it is this one.
func (t *Ticket) Settle(o convert.Outcome, by string) (stands convert.Outcome, first bool) {
	return t.settle(o, by, true)
}

// Reply is Settle for whoever holds a lock, and calls Leave when it does not any
// more: watchers are told then.
func (t *Ticket) Reply(o convert.Outcome, by string) (stands convert.Outcome, first bool) {
	return t.settle(o, by, false)
}

func (t *Ticket) settle(o convert.Outcome, by string, tell bool) (stands convert.Outcome, first bool) {
	t.desk.step(tell, func(on *table) {
		if first = t.life.Open(); first {
			on.settle(t, Settlement{o, by, time.Now()})
		}
		stands = t.end.Outcome
	})
	return stands, first
}

// Leave gives the item's place to the next one of its session. Call it when
// nothing of the item is in front of the user any more. An item that was not
// settled has failed. More calls do nothing.
func (t *Ticket) Leave() {
	t.desk.step(true, func(on *table) {
		if t.life.Open() {
			on.settle(t, Settlement{convert.Outcome{Status: convert.Failed, Reason: "The question was given up"}, "", time.Now()})
		}
		on.leave(t)
	})
}
