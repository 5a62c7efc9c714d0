package desk

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/acp-bridge/acp-bridge/internal/about"
)

// Watch calls f for every open item, in order, and then for every change of
// one. f is called for one change at a time, in the order in which they
// happened, by whoever uses the desk: it must not block. It may use the desk;
// what changes by that is told after it has returned. A change may be told after
// the call that made it has returned.
//
// After stop f is called no more; a call that has begun may still run.
func (d *Desk) Watch(f func(Entry)) (stop func()) { return d.watch(&watcher{f: f}, ofItems) }

// Turn is how an agent's turn ended: for people who do not look at its screen.
type Turn struct {
	Session string
	// Agent, Dir and About are those of an [Item].
	Agent, Dir string
	About      about.About
	// Err is why it failed, nil if it did not.
	Err error
	// Working says that something of the agent goes on in the background: it comes back
	// with a turn of its own.
	Working bool
}

// EndTurn tells those who watch that a turn has ended. It does not block, and may be
// called with a lock held: watchers are told by a goroutine of their own.
func (d *Desk) EndTurn(t Turn) { d.tell(func(w *watcher) { w.turned(t) }, ofTurns) }

// WatchTurns calls f for every turn that ends, as Watch does for items.
func (d *Desk) WatchTurns(f func(Turn)) (stop func()) {
	return d.watch(&watcher{turned: f}, ofTurns)
}

// Receipt tells those who watch what became of what an item was settled with: nil says
// that the agent has it, its result went back, and an error why it never will. It may be
// called with a lock held, as EndTurn.
func (d *Desk) Receipt(name string, err error) {
	d.tell(func(w *watcher) { w.received(name, err) }, ofReceipts)
}

// WatchReceipts calls f for every receipt, as Watch does for changes: behind the one
// that settled its item.
func (d *Desk) WatchReceipts(f func(name string, err error)) (stop func()) {
	return d.watch(&watcher{received: f}, ofReceipts)
}

// Those who watch items, turns and receipts.
func ofItems(n *news) *[]*watcher    { return &n.watchers }
func ofTurns(n *news) *[]*watcher    { return &n.ofTurns }
func ofReceipts(n *news) *[]*watcher { return &n.ofReceipts }

// tell tells something to those of a list, if there are any, by a goroutine of its own.
func (d *Desk) tell(say func(*watcher), list func(*news) *[]*watcher) {
	c := change{say: say}
	d.step(false, func(on *table) {
		if c.to = *list(&on.news); len(c.to) > 0 {
			on.news.untold = append(on.news.untold, c)
		}
	})
	if len(c.to) > 0 {
		go d.step(true, func(*table) {})
	}
}

// watch adds a watcher to a list, until stop is called. One of items is told what is open.
func (d *Desk) watch(w *watcher, list func(*news) *[]*watcher) (stop func()) {
	d.step(w.f != nil, func(on *table) {
		l := list(&on.news)
		*l = append(slices.Clip(*l), w)
		if w.f != nil {
			for _, e := range on.list() {
				on.news.untold = append(on.news.untold, change{entry: e, to: []*watcher{w}})
			}
		}
	})
	return func() {
		w.stopped.Store(true)
		d.step(true, func(on *table) {
			l := list(&on.news)
			*l = slices.DeleteFunc(slices.Clone(*l), func(o *watcher) bool { return o == w })
		})
	}
}

// news is what watchers have not been told yet.
type news struct {
	watchers   []*watcher // a new slice with each change: a change that is untold keeps its own
	ofTurns    []*watcher // the same for those of turns
	ofReceipts []*watcher // and of receipts
	untold     []change
	told       int  // of untold
	telling    bool // somebody tells them
}

type watcher struct {
	f        func(Entry)
	turned   func(Turn)
	received func(string, error)
	stopped  atomic.Bool
}

type change struct {
	entry Entry
	say   func(*watcher) // instead of an entry
	to    []*watcher
}

func (c change) tell() {
	for _, w := range c.to {
		switch {
		case w.stopped.Load():
		case c.say != nil:
			c.say(w)
		default:
			w.f(c.entry)
		}
	}
}

// changed notes a change of an item.
func (on *table) changed(t *Ticket) {
	if len(on.news.watchers) > 0 {
		on.news.untold = append(on.news.untold, change{entry: on.entry(t), to: on.news.watchers})
	}
}

// next is what is to be told next, if there is something.
func (n *news) next() (c change, ok bool) {
	if n.told < len(n.untold) {
		c, n.untold[n.told] = n.untold[n.told], change{}
		n.told++
		return c, true
	}
	if n.told, n.untold = 0, n.untold[:0]; cap(n.untold) > 16 {
		n.untold = nil
	}
	return change{}, false
}

// recent remembers how the last items ended, to tell those who come late.
type recent struct {
	list [64]*ended
	next int
}

type ended struct {
	name string
	Settlement
}

func (r *recent) add(t *Ticket) {
	r.list[r.next%len(r.list)] = &ended{t.item.Name, t.end}
	r.next++
}

// find says why there is no such item.
func (r *recent) find(name string) error {
	for _, e := range r.list {
		if e != nil && e.name == name {
			return &SettledError{e.Settlement}
		}
	}
	return fmt.Errorf("%w: %q", ErrNotOpen, name)
}
