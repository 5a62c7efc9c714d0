package desk

import (
	"context"
	"slices"
	"time"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/life"
)

// Ticket is the asker's hold on an item.
type Ticket struct {
	desk     *Desk
	item     Item
	revision uint64
	asked    time.Time
	ctx      context.Context
	cancel   context.CancelCauseFunc
	first    chan struct{} // closed when the item is the first of its session

	// Guarded by the desk's mutex.
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
		select {
		case <-t.first:
		case <-t.ctx.Done():
		}
	}
	if !t.show() {
		<-t.ctx.Done()
		return context.Cause(t.ctx)
	}
	return nil
}

// show lets the asker go ahead, unless the item is at its end.
func (t *Ticket) show() bool {
	t.desk.mu.Lock()
	defer t.desk.mu.Unlock()
	if t.ctx.Err() != nil {
		return false
	}
	t.shown = true
	return true
}

// Context ends with the context that was given to [Desk.Post], and when the
// item is settled, then with [ErrSettled] as its cause.
func (t *Ticket) Context() context.Context { return t.ctx }

// Item returns what was posted.
func (t *Ticket) Item() Item { return t.item }

// Asking tells watchers which question is in front of the user, and how.
func (t *Ticket) Asking(question int, rung string) {
	defer t.desk.tell()
	t.desk.mu.Lock()
	defer t.desk.mu.Unlock()
	shown, err := t.life.Step(life.Show)
	if err != nil {
		return // it has its end
	}
	t.life, t.question, t.rung = shown, question, rung
	t.desk.changed(t.entry())
}

// Settle gives the item an outcome, unless it has one. It returns the outcome
// that stands and whether it is this one.
func (t *Ticket) Settle(o convert.Outcome, by string) (stands convert.Outcome, first bool) {
	d := t.desk
	defer d.tell()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !t.life.Open() {
		return t.end.Outcome, false
	}
	d.settle(t, Settlement{o, by, time.Now()})
	return o, true
}

// Leave gives the item's place to the next one of its session. Call it when
// nothing of the item is in front of the user any more. An item that was not
// settled has failed. More calls do nothing.
func (t *Ticket) Leave() {
	d := t.desk
	defer d.tell()
	d.mu.Lock()
	defer d.mu.Unlock()
	if t.life.Open() {
		d.settle(t, Settlement{convert.Outcome{Status: convert.Failed, Reason: "The question was given up"}, "", time.Now()})
	}
	d.leave(t)
}

func (t *Ticket) key() key { return key{t.item.Call.Session, t.item.Call.ID} }

// entry is the item as it stands. The desk's mutex is held.
func (t *Ticket) entry() Entry {
	return Entry{
		Item: t.item, Revision: t.revision, Asked: t.asked, State: stateOf(t.life),
		Place:    max(slices.Index(t.desk.queues[t.item.Call.Session], t), 0),
		Question: t.question, Rung: t.rung, Settlement: t.end,
	}
}
