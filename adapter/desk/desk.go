// Package desk owns the open questions of a process: what an agent wants to
// know and a person has not answered yet. Whoever asks posts an [Item] and
// holds its [Ticket]; everybody else lists, answers, cancels and watches.
//
//	var d desk.Desk
//	ticket := d.Post(ctx, desk.Item{Kind: desk.Question, Call: call})
//	defer ticket.Leave()
//	if ticket.Turn() == nil {                  // the first of its session
//		outcome = show(ticket.Context(), call) // ends when others settle it
//	}
//	outcome, first := ticket.Settle(outcome, "editor")
//
// and elsewhere
//
//	err := d.Answer(entry.Name, answers, "phone")
//
// An item has one outcome: the first one stands, for all. The items of a
// session are shown one at a time, in the order in which they were posted;
// sessions do not wait for each other. Nothing here has a timeout.
package desk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/life"
)

// Kind says what an item is to the person.
type Kind int

const (
	// Question is a question call of an agent.
	Question Kind = iota + 1
	// Form is what an MCP server wants to know.
	Form
	// Permission is the permission to use a tool. Its call has one question, whose
	// options are the choices.
	Permission
)

// String returns the kind in lower case.
func (k Kind) String() string { return cmp.Or(kinds[k], "unknown") }

var kinds = map[Kind]string{Question: "question", Form: "form", Permission: "permission"}

// Item is something that a person is asked.
type Item struct {
	// Name is minted by whoever posts the item, or when it is posted. Everybody knows the
	// item by that: a person who answers, a file, a hub.
	Name string
	Kind Kind
	// Call.ID is the agent's, and names nothing here. If there is none, or it is that of
	// another item that its session waits for, as agents count, the name takes its place:
	// screens show two.
	Call convert.Call
	// Check is a rule for answers beyond those of the call; nil has none. It
	// must not block and must not call the desk.
	Check func([]convert.Answer) error
	// Again is that of [life.Claimant]: a process that is gone has asked it before.
	Again bool
	// Unqueued says that it is in front of the user already, whatever else is: it has
	// no place in its session's queue, and nothing waits for it.
	Unqueued bool
	// Agent says who asks and Dir where it works, for people.
	Agent, Dir string
	// About is what else people are told of it.
	About about.About
	// Secret says that the answer is for nobody else: it is given to whoever asks
	// and nowhere that keeps it.
	Secret bool
}

// State says where an item is for people; [life.State] has all of it.
type State int

const (
	// Queued means that the item waits for others of its session, or for its
	// asker to show it.
	Queued State = iota + 1
	// Asking means that the item is in front of the user.
	Asking
	// Settled means that the item has its outcome.
	Settled
)

// String returns the state in lower case.
func (s State) String() string { return cmp.Or(states[s], "unknown") }

var states = map[State]string{Queued: "queued", Asking: "asking", Settled: "settled"}

// stateOf is what people see of a life.
func stateOf(l life.State) State {
	switch l {
	case life.Asked:
		return Queued
	case life.Shown:
		return Asking
	}
	return Settled
}

// Entry is an item as it stands.
type Entry struct {
	Item
	// Asked is when the item was posted.
	Asked time.Time
	State State
	// Place counts the items before it in its session.
	Place int
	// Question counts from 0 and Rung says how it is asked, once State was
	// Asking.
	Question int
	Rung     string
	// Settlement is set when State is Settled.
	Settlement
}

// Settlement is how an item ended.
type Settlement struct {
	Outcome convert.Outcome
	// By says who settled it, for people; nobody if the item was withdrawn.
	By string
	At time.Time
}

var (
	// ErrNotOpen means that there is no such item: it was never posted, or
	// ended too long ago to be known.
	ErrNotOpen = errors.New("no such open question")
	// ErrSettled means that an item has its outcome already. The error is a
	// [SettledError].
	ErrSettled = life.ErrSettled
)

// SettledError says how an item ended that somebody wanted to settle.
type SettledError struct{ Settlement }

// Error says what happened to the item, by whom and when.
func (e *SettledError) Error() string {
	by := ""
	if e.By != "" {
		by = " by " + e.By
	}
	return fmt.Sprintf("%v: %s%s at %s", ErrSettled, e.Outcome.Status, by, e.At.UTC().Format(time.RFC3339))
}

// Unwrap returns [ErrSettled].
func (e *SettledError) Unwrap() error { return ErrSettled }

// Desk is the open items of a process. The zero value is an empty one. Its
// methods may be called from any goroutine.
type Desk struct {
	mu sync.Mutex // only step takes it
	table
}

// step changes what is on the desk, by one function at a time. With tell, watchers
// are told what they do not know yet before it returns, or by whoever is at it.
func (d *Desk) step(tell bool, change func(*table)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(&d.table)
	if !tell || d.news.telling {
		return
	}
	d.news.telling = true
	defer func() { d.news.telling = false }() // also after a panic
	for c, ok := d.news.next(); ok; c, ok = d.news.next() {
		d.unlocked(c.tell)
	}
}

// unlocked runs f, which may use the desk, in the middle of a step.
func (d *Desk) unlocked(f func()) {
	d.mu.Unlock()
	defer d.mu.Lock()
	f()
}

// table is what is on a desk. Its methods are called one at a time.
type table struct {
	serial uint64
	open   map[string]*Ticket   // by name
	queues map[string][]*Ticket // by session, the first one's turn it is
	recent recent
	news   news
}

// Post takes the last place in the queue of the item's session. It does not
// block. When ctx ends, the ticket's context does; the item stays open until it is
// settled. Every ticket must be left, see [Ticket.Leave].
func (d *Desk) Post(ctx context.Context, it Item) (t *Ticket) {
	d.step(true, func(on *table) { t = on.post(ctx, d, it) })
	return t
}

// Place is Post for whoever holds a lock, and calls [Ticket.Turn] when it does not
// any more: watchers are told then.
func (d *Desk) Place(ctx context.Context, it Item) (t *Ticket) {
	d.step(false, func(on *table) { t = on.post(ctx, d, it) })
	return t
}

func (on *table) post(ctx context.Context, d *Desk, it Item) *Ticket {
	if it.Name == "" || on.open[it.Name] != nil {
		it.Name = life.Mint()
	}
	if it.Call.ID == "" || slices.ContainsFunc(on.queues[it.Call.Session], func(o *Ticket) bool { return o.waits(it.Call.ID) }) {
		it.Call.ID = it.Name
	}
	t := &Ticket{desk: d, item: it, asked: time.Now()}
	if on.open == nil {
		on.open, on.queues = map[string]*Ticket{}, map[string][]*Ticket{}
	}
	on.open[it.Name] = t
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	t.first = now
	if !it.Unqueued {
		queue := append(on.queues[it.Call.Session], t)
		on.queues[it.Call.Session] = queue
		if len(queue) > 1 {
			t.first = make(chan struct{})
		}
	}
	on.serial++
	t.serial = on.serial
	on.changed(t)
	return t
}

// now is a channel of one that need not wait.
var now = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// List returns all open items in the order in which they were posted.
func (d *Desk) List() (list []Entry) {
	d.step(true, func(on *table) { list = on.list() })
	return list
}

func (on *table) list() []Entry {
	list := make([]Entry, 0, len(on.open))
	for _, t := range slices.SortedFunc(maps.Values(on.open), func(a, b *Ticket) int { return cmp.Compare(a.serial, b.serial) }) {
		list = append(list, on.entry(t))
	}
	return list
}

// Answer settles the item of a name with one answer per question, the zero Answer for
// a question that is left without one. Answers that do not fit are an error, and
// the item stays open. The error is [ErrNotOpen] or a [SettledError] where there is
// nothing to answer.
func (d *Desk) Answer(name string, answers []convert.Answer, by string) error {
	return d.end(name, by, func(it Item) (convert.Outcome, error) {
		o := convert.Outcome{Status: convert.Answered, Answers: answers}
		if err := o.Check(it.Call); err != nil {
			return o, err
		}
		for i, a := range answers {
			if err := it.Call.Questions[i].Fits(a); err != nil && (it.Kind != Permission || a.Text != "") {
				return o, fmt.Errorf("question %d: %w", i+1, err)
			}
		}
		o = o.InOrder(it.Call)
		if it.Check != nil {
			return o, it.Check(o.Answers)
		}
		return o, nil
	})
}

// Cancel settles an item as if the user had dismissed it. Errors are those of
// [Desk.Answer].
func (d *Desk) Cancel(name, by string) error {
	return d.end(name, by, func(Item) (convert.Outcome, error) {
		return convert.Outcome{Status: convert.Cancelled, Reason: convert.CancelMessage}, nil
	})
}

func (d *Desk) end(name, by string, outcome func(Item) (convert.Outcome, error)) (err error) {
	d.step(true, func(on *table) { err = on.end(name, by, outcome) })
	return err
}

func (on *table) end(name, by string, outcome func(Item) (convert.Outcome, error)) error {
	t := on.open[name]
	if t == nil {
		return on.recent.find(name)
	}
	o, err := outcome(t.item)
	if err != nil {
		return err
	}
	on.settle(t, Settlement{o, by, time.Now()})
	return nil
}

// settle ends an open item: a person's act settles it, and anything else
// withdraws it.
func (on *table) settle(t *Ticket, s Settlement) {
	ended, err := t.life.Step(life.Ends(s.Outcome.Status))
	if err != nil {
		return // it has its end
	}
	if ended == life.Withdrawn {
		s.By = ""
	}
	t.life, t.end = ended, s
	delete(on.open, t.item.Name)
	on.recent.add(t)
	on.changed(t)
	if ended == life.Settled {
		t.cancel(life.Elsewhere{Outcome: s.Outcome.Status.String(), By: s.By})
	} else {
		t.cancel(ErrSettled)
	}
	if !t.shown { // nobody has to take it off a screen first
		on.leave(t)
	}
}

// leave gives up a place in the queue; the next item may have become the first.
func (on *table) leave(t *Ticket) {
	session := t.item.Call.Session
	queue := on.queues[session]
	i := slices.Index(queue, t)
	if i < 0 {
		return
	}
	queue = slices.Delete(queue, i, i+1)
	if len(queue) == 0 {
		delete(on.queues, session)
		return
	}
	on.queues[session] = queue
	if i == 0 {
		close(queue[0].first)
	}
}

// entry is the item as it stands.
func (on *table) entry(t *Ticket) Entry {
	return Entry{
		Item: t.item, Asked: t.asked, State: stateOf(t.life),
		Place:    max(slices.Index(on.queues[t.item.Call.Session], t), 0),
		Question: t.question, Rung: t.rung, Settlement: t.end,
	}
}
