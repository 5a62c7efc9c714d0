package desk

import (
	"fmt"
	"slices"
	"sync/atomic"
)

// Watch calls f for every open item, in order, and then for every change of
// one. f is called for one change at a time, in the order in which they
// happened, by whoever uses the desk: it must not block. It may use the desk;
// what changes by that is told after it has returned. A change may be told after
// the call that made it has returned.
//
// After stop f is called no more; a call that has begun may still run.
func (d *Desk) Watch(f func(Entry)) (stop func()) {
	w := &watcher{f: f}
	d.step(true, func(on *table) {
		on.news.watchers = append(slices.Clip(on.news.watchers), w)
		for _, e := range on.list() {
			on.news.untold = append(on.news.untold, change{e, []*watcher{w}})
		}
	})
	return func() {
		w.stopped.Store(true)
		d.step(true, func(on *table) {
			on.news.watchers = slices.DeleteFunc(slices.Clone(on.news.watchers), func(o *watcher) bool { return o == w })
		})
	}
}

// news is what watchers have not been told yet.
type news struct {
	watchers []*watcher // a new slice with each change: a change that is untold keeps its own
	untold   []change
	told     int  // of untold
	telling  bool // somebody tells them
}

type watcher struct {
	f       func(Entry)
	stopped atomic.Bool
}

type change struct {
	entry Entry
	to    []*watcher
}

func (c change) tell() {
	for _, w := range c.to {
		if !w.stopped.Load() {
			w.f(c.entry)
		}
	}
}

// changed notes a change of an item.
func (on *table) changed(t *Ticket) {
	if len(on.news.watchers) > 0 {
		on.news.untold = append(on.news.untold, change{on.entry(t), on.news.watchers})
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
	ref Ref
	Settlement
}

func (r *recent) add(t *Ticket) {
	r.list[r.next%len(r.list)] = &ended{Ref{t.item.Call.Session, t.item.Call.ID, t.revision}, t.end}
	r.next++
}

// find says why there is no such item, going by the last one that had its name.
func (r *recent) find(ref Ref) error {
	for i := 1; i <= len(r.list); i++ {
		e := r.list[(r.next+len(r.list)-i)%len(r.list)]
		if e == nil {
			break
		}
		if e.ref.Session == ref.Session && e.ref.ID == ref.ID && (ref.Revision == 0 || ref.Revision == e.ref.Revision) {
			return &SettledError{e.Settlement}
		}
	}
	return fmt.Errorf("%w: session %q, call %q", ErrNotOpen, ref.Session, ref.ID)
}
