package desk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/acp-bridge/acp-bridge/convert"
)

// Store keeps items where they outlive the process, or where other processes
// see them. It decides which outcome is the first one. Package desktest has its
// contract as tests.
//
// Of an [Entry] a store keeps Kind, Call, Agent, Dir, Asked to the nanosecond
// and, once State is Settled, the Settlement; an open one is Queued. Its name is
// Call.Session with Call.ID. Two entries that had one name differ in Asked.
type Store interface {
	// Put keeps e if what it has under that name has the revision e.Revision;
	// 0 means that it has nothing. It returns e with its new revision, which is
	// never 0. Otherwise the error is [ErrConflict] and the entry is the one
	// that is kept, the zero Entry if there is none.
	Put(ctx context.Context, e Entry) (Entry, error)
	// Take forgets e, if it has that revision, after use returned nil; a nil use
	// does nothing. While use runs, the entry can neither be taken nor changed
	// by others. It returns the error of use, or [ErrConflict].
	Take(ctx context.Context, e Entry, use func() error) error
	// List returns all entries.
	List(ctx context.Context) ([]Entry, error)
	// Watch tells every change from when it returns until ctx ends; then it
	// closes the channel. Changes may be told late, and several as one. An
	// entry that is gone is told as it was last. A channel that is not read
	// keeps no other method waiting.
	Watch(ctx context.Context) (<-chan Change, error)
}

// Change is a change in a store: an entry is new, is another, or is gone.
type Change struct {
	Entry
	Gone bool
}

// ErrConflict means that a store has another revision of an entry.
var ErrConflict = errors.New("somebody else has changed it")

// Open makes a desk of a store. What is open there is open at the desk, and may
// be answered and cancelled; when it is posted again, whoever posts it is its
// asker. A nil logger discards.
func Open(store Store, log *slog.Logger) (*Desk, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	ctx, stop := context.WithCancel(context.Background())
	d := &Desk{kept: &kept{Store: store, ctx: ctx, stop: stop, log: log, open: map[key]Entry{}}}
	changes, err := store.Watch(ctx)
	if err != nil {
		stop()
		return nil, err
	}
	entries, err := store.List(ctx)
	if err != nil {
		stop()
		return nil, err
	}
	for _, e := range entries {
		d.noticed(Change{Entry: e})
	}
	d.kept.watching.Go(func() {
		for c := range changes {
			d.noticed(c)
		}
		if ctx.Err() == nil {
			log.Error("what others do to questions is no longer noticed")
		}
	})
	return d, nil
}

// Close ends the use of the store. Open items stay in it.
func (d *Desk) Close() {
	if d.kept != nil {
		d.kept.stop()
		d.kept.watching.Wait()
	}
}

// kept is what a desk with a store has beyond one without.
type kept struct {
	Store
	ctx      context.Context
	stop     context.CancelFunc
	watching sync.WaitGroup
	log      *slog.Logger

	open map[key]Entry // in the store, with no ticket here; guarded by Desk.mu
}

// keep puts an item into the store that has its place in the queue. It may be
// there already, with an outcome even. mu is not held.
func (d *Desk) keep(t *Ticket) error {
	e := Entry{Item: t.item, Asked: t.asked, State: Queued}
	now, err := d.kept.Put(d.kept.ctx, e)
	if errors.Is(err, ErrConflict) && now.State != 0 {
		if !sameQuestions(now.Call, e.Call) {
			return fmt.Errorf("question call %q is %w with other questions", e.Call.ID, ErrOpen)
		}
		err = nil
	}
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.kept.open, t.key())
	t.revision, t.asked, t.state = now.Revision, now.Asked, Queued
	d.changed(t.entry())
	for _, e := range append([]Entry{now}, t.meanwhile...) {
		if e.State == Settled && e.Asked.Equal(now.Asked) && t.state != Settled {
			d.settleAt(t, e)
		}
	}
	return nil
}

func sameQuestions(a, b convert.Call) bool {
	return slices.EqualFunc(a.Questions, b.Questions, func(p, q convert.Question) bool {
		return p.Text == q.Text && slices.EqualFunc(p.Options, q.Options, func(x, y convert.Option) bool { return x.Label == y.Label })
	})
}

// decide has the store settle an entry, and returns the entry that stands. With
// exact the revision has to be the one that was seen. mu is not held.
func (k *kept) decide(e Entry, s Settlement, exact bool) (stands Entry, first bool, err error) {
	for {
		e.State, e.Settlement = Settled, s
		now, err := k.Put(k.ctx, e)
		switch {
		case err == nil:
			return now, true, nil
		case !errors.Is(err, ErrConflict):
			return e, false, err
		case now.State == 0:
			return e, false, notOpen(Ref{Session: e.Call.Session, ID: e.Call.ID})
		case now.State == Settled:
			return now, false, nil
		case exact || !now.Asked.Equal(e.Asked):
			return now, false, fmt.Errorf("%w: session %q, call %q", ErrRevision, e.Call.Session, e.Call.ID)
		}
		e = now // it has changed and is still open
	}
}

// settleKept settles an item by way of the store. An outcome of the asker's own
// stands also if the store fails or has lost the item: the asker is not kept
// waiting. mu is not held.
func (d *Desk) settleKept(t *Ticket, s Settlement) (stands Settlement, first bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.settled(t.key())
	if t.state == Settled {
		return t.end, false
	}
	e := t.entry()
	d.mu.Unlock()
	now, first, err := d.kept.decide(e, s, false)
	d.mu.Lock()
	if err != nil && t.state != Settled {
		d.kept.log.Warn("the outcome of a question is not kept", "session", e.Call.Session, "call", e.Call.ID, "err", err)
		now, first, t.lost = e, true, true
	}
	if first {
		now.Settlement = s // as it was given, not as it was kept
	}
	return d.apply(t, now), first
}

// apply gives an item the outcome that the store has for it, and withdraws what
// waits beside a cancelled question. It returns the outcome that stands. mu is
// held, and is not while the store is used.
func (d *Desk) apply(t *Ticket, e Entry) Settlement {
	if t.state == Settled {
		return t.end
	}
	siblings := d.others(t, e.Outcome)
	for _, other := range siblings {
		other.closing = true // and does not get its turn meanwhile
	}
	d.settleAt(t, e)
	for _, other := range siblings {
		if other.state == Settled {
			continue
		}
		e := other.entry()
		d.mu.Unlock()
		s := withdrawal()
		now, first, err := d.kept.decide(e, s, false)
		if err != nil || first {
			now.Settlement = s
		}
		d.mu.Lock()
		if other.state != Settled {
			other.lost = err != nil
			d.settleAt(other, now)
		}
	}
	return t.end
}

// settled waits for the end of an item that is being withdrawn. It takes the
// store no time that a person would notice. mu is held, and is not meanwhile.
func (d *Desk) settled(k key) {
	for t := d.open[k]; t != nil && t.closing; t = d.open[k] {
		d.mu.Unlock()
		<-t.ctx.Done()
		d.mu.Lock()
	}
}

// settleAt gives an item the outcome and the revision that it has in the store.
// mu is held.
func (d *Desk) settleAt(t *Ticket, e Entry) {
	t.kept = e.Revision
	d.settleOne(t, e.Settlement)
}

// noticed takes in what others did to the store.
func (d *Desk) noticed(c Change) {
	defer d.tell()
	d.mu.Lock()
	defer d.mu.Unlock()
	e := c.Entry
	if c.Gone {
		e.State, e.Settlement = Settled, Settlement{convert.Outcome{Status: convert.Cancelled, Reason: "The question was removed"}, "", time.Now()}
	}
	k := key{e.Call.Session, e.Call.ID}
	t := d.open[k]
	switch {
	case t == nil:
		d.noticedOther(k, e)
	case t.state == 0: // it is being posted
		t.meanwhile = append(t.meanwhile, e)
	case !e.Asked.Equal(t.asked): // of one that was there before
	case e.State == Settled:
		d.apply(t, e)
	default:
		t.revision = e.Revision
	}
}

// noticedOther is noticed for an item that has no asker here. mu is held.
func (d *Desk) noticedOther(k key, e Entry) {
	old, known := d.kept.open[k]
	switch {
	case d.recent.has(e): // told late
	case e.State != Settled && (!known || old.Revision != e.Revision):
		e.State = Queued
		d.kept.open[k] = e
		d.changed(e)
	case e.State == Settled && known && e.Asked.Equal(old.Asked):
		e.Revision = old.Revision
		delete(d.kept.open, k)
		d.recent.add(e)
		d.changed(e)
	}
}

// endKept settles an item that has no asker here. mu is not held.
func (d *Desk) endKept(e Entry, s Settlement, exact bool) error {
	now, first, err := d.kept.decide(e, s, exact)
	switch {
	case errors.Is(err, ErrNotOpen): // taken; by an asker here, perhaps
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.recent.find(Ref{e.Call.Session, e.Call.ID, e.Revision})
	case err != nil:
		return err
	}
	d.noticed(Change{Entry: now})
	if !first {
		return &SettledError{now.Settlement}
	}
	return nil
}

// Deliver hands an outcome over to whoever asked: it calls use, while nobody
// else can, and then the store forgets the item. If use fails, the outcome
// stays for whoever posts the item again. [ErrConflict] means that somebody
// else has taken the outcome, or changed it: post the item again.
func (t *Ticket) Deliver(use func() error) error {
	d := t.desk
	d.mu.Lock()
	e, kept, lost := t.entry(), t.kept, t.lost
	d.mu.Unlock()
	switch {
	case e.State != Settled:
		return errors.New("the question has no outcome that could be delivered")
	case d.kept == nil || lost:
		return use()
	}
	e.Revision = kept
	return d.kept.Take(d.kept.ctx, e, use)
}

// abandon leaves an open item to the store. mu is held.
func (d *Desk) abandon(t *Ticket) {
	if d.open[t.key()] != t { // it was never posted, or is abandoned
		return
	}
	e := t.entry()
	e.State, e.Place, e.Question, e.Rung = Queued, 0, 0, ""
	delete(d.open, t.key())
	t.state, t.end = Settled, Settlement{convert.Outcome{Status: convert.Failed, Reason: "The question was given up"}, "", time.Now()}
	t.cancel(ErrSettled)
	d.kept.open[t.key()] = e
	d.changed(e)
}
