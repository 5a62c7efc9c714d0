// Package desktest has what tests of a [desk.Store] need: its contract, see
// [Store], and one in memory to compare with.
package desktest

import (
	"context"
	"slices"
	"sync"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
)

// Memory is a store in memory. The zero value is an empty one.
type Memory struct {
	// Fail, if it is not nil, is asked before each use, by name of the method.
	Fail func(method string) error

	mu       sync.Mutex
	taking   sync.Mutex // held while an entry is taken or changed
	revision uint64
	entries  map[name]desk.Entry
	watchers []*watcher
}

type name struct{ session, id string }

func nameOf(e desk.Entry) name { return name{e.Call.Session, e.Call.ID} }

type watcher struct {
	changes []desk.Change
	some    chan struct{} // holds one
	out     chan desk.Change
}

// Put implements [desk.Store].
func (m *Memory) Put(_ context.Context, e desk.Entry) (desk.Entry, error) {
	if err := m.fail("Put"); err != nil {
		return desk.Entry{}, err
	}
	m.taking.Lock()
	defer m.taking.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := m.entries[nameOf(e)]; now.Revision != e.Revision {
		return now, desk.ErrConflict
	}
	if m.entries == nil {
		m.entries = map[name]desk.Entry{}
	}
	m.revision++
	e.Revision = m.revision
	kept := desk.Entry{Item: e.Item, Revision: e.Revision, Asked: e.Asked, State: e.State, Settlement: e.Settlement}
	kept.Check = nil
	m.entries[nameOf(e)] = kept
	m.tell(kept, false)
	return kept, nil
}

// Take implements [desk.Store].
func (m *Memory) Take(_ context.Context, e desk.Entry, use func() error) error {
	if err := m.fail("Take"); err != nil {
		return err
	}
	m.taking.Lock()
	defer m.taking.Unlock()
	m.mu.Lock()
	now := m.entries[nameOf(e)]
	m.mu.Unlock()
	if now.Revision == 0 || now.Revision != e.Revision {
		return desk.ErrConflict
	}
	if use != nil {
		if err := use(); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.entries, nameOf(e))
	m.tell(now, true)
	return nil
}

// List implements [desk.Store].
func (m *Memory) List(context.Context) ([]desk.Entry, error) {
	if err := m.fail("List"); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []desk.Entry
	for _, e := range m.entries {
		list = append(list, e)
	}
	return list, nil
}

// Watch implements [desk.Store].
func (m *Memory) Watch(ctx context.Context) (<-chan desk.Change, error) {
	if err := m.fail("Watch"); err != nil {
		return nil, err
	}
	w := &watcher{some: make(chan struct{}, 1), out: make(chan desk.Change)}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.watchers = append(m.watchers, w)
	go m.run(ctx, w)
	return w.out, nil
}

func (m *Memory) run(ctx context.Context, w *watcher) {
	defer close(w.out)
	for {
		select {
		case <-ctx.Done():
			m.mu.Lock()
			defer m.mu.Unlock()
			m.watchers = slices.DeleteFunc(m.watchers, func(o *watcher) bool { return o == w })
			return
		case <-w.some:
		}
		m.mu.Lock()
		changes := w.changes
		w.changes = nil
		m.mu.Unlock()
		for _, c := range changes {
			w.out <- c
		}
	}
}

// tell tells watchers of a change. mu is held.
func (m *Memory) tell(e desk.Entry, gone bool) {
	for _, w := range m.watchers {
		w.changes = append(w.changes, desk.Change{Entry: e, Gone: gone})
		select {
		case w.some <- struct{}{}:
		default: // it looks anyway
		}
	}
}

func (m *Memory) fail(method string) error {
	if m.Fail != nil {
		return m.Fail(method)
	}
	return nil
}
