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
	d.mu.Lock()
	d.news.watchers = append(slices.Clip(d.news.watchers), w)
	for _, e := range d.list() {
		d.news.add(e, []*watcher{w})
	}
	d.mu.Unlock()
	d.tell()
	return func() {
		w.stopped.Store(true)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.news.watchers = slices.DeleteFunc(slices.Clone(d.news.watchers), func(o *watcher) bool { return o == w })
	}
}

// news is what watchers have not been told yet. Guarded by the desk's mutex.
type news struct {
	watchers []*watcher // a new slice with each change: a change that is untold keeps its own
	untold   []change
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

func (n *news) add(e Entry, to []*watcher) {
	n.untold = append(n.untold, change{e, to})
}

// changed notes a change of an item. mu is held.
func (d *Desk) changed(e Entry) {
	if len(d.news.watchers) > 0 {
		d.news.add(e, d.news.watchers)
	}
}

// tell tells watchers what they do not know yet, unless somebody is at it: then
// they tell this, too. mu is not held.
func (d *Desk) tell() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.news.telling {
		return
	}
	d.news.telling = true
	defer func() { d.news.telling = false }() // also after a panic
	for i := 0; i < len(d.news.untold); i++ { // it may grow meanwhile
		c := d.news.untold[i]
		d.news.untold[i] = change{}
		d.call(c)
	}
	if d.news.untold = d.news.untold[:0]; cap(d.news.untold) > 16 {
		d.news.untold = nil
	}
}

// call calls watchers with mu released.
func (d *Desk) call(c change) {
	d.mu.Unlock()
	defer d.mu.Lock()
	for _, w := range c.to {
		if !w.stopped.Load() {
			w.f(c.entry)
		}
	}
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

func (r *recent) add(e Entry) {
	r.list[r.next%len(r.list)] = &ended{Ref{e.Call.Session, e.Call.ID, e.Revision}, e.Settlement}
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
