package hub

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/life"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// LeaseTime is how long an asker may be silent before it counts as gone.
const LeaseTime = 30 * time.Second

// Options of a board. The zero value works.
type Options struct {
	// Keep is how long settled questions are kept; 0 is 30 days.
	Keep time.Duration
	// Lease is how long an asker may be silent; 0 is [LeaseTime].
	Lease time.Duration
	// Logger gets what goes wrong; nil discards it.
	Logger *slog.Logger
}

// Board is the questions in a store. Its methods may be called from any
// goroutine.
type Board struct {
	fixed
	stop context.CancelFunc
	// unhear ends listening to other hubs; nil if there are none.
	unhear func()
	done   sync.WaitGroup
	ended  chan struct{} // closed when the store is no longer watched
	count  proc.Guarded[Stats]
	soon   time.Duration

	mu sync.Mutex // only step takes it
	state
}

// step has the state to itself. It waits for nothing.
func (b *Board) step(f func(*state)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(&b.state)
}

// peek returns what f makes of the state.
func peek[T any](b *Board, f func(*state) T) (got T) {
	b.step(func(s *state) { got = f(s) })
	return got
}

// fixed is what does not change while a board is open.
type fixed struct {
	store *hubstore.Store
	opts  Options
	log   *slog.Logger
	own   context.Context // ends with the board
	using time.Duration   // see usingTime
}

// state is what goroutines share, see [Board.step].
type state struct {
	*fixed
	records map[string]*Record // by key
	talks   map[talk][]*Record // in the order of asking
	open    map[string]*Record // by key
	loads   map[string]load    // of what is kept, by device
	markers map[string]marker  // of what was removed, by key
	refusal refusal
	mark    func(context.Context) (uint64, error) // writes to the store
	sealed  map[string]uint64                     // revisions, by key, of what a newer hub wrote, or nobody can read
	last    uint64                                // revision that was seen last
	skipped uint64                                // revision before which others were not seen
	leases  map[string]*lease                     // by key, of what is open or not consumed
	// catching has the catch-up that has not begun, or nil, and whether there is one
	// under way.
	catching struct {
		next    *catchUp
		running bool
	}
	waiters map[string]chan struct{}
	writing map[string]*writing // by key
	news    news
	loaded  bool // all that there was has been read; what comes now is news
}

// Open reads all records and follows the store from then on.
func Open(ctx context.Context, store *hubstore.Store, o Options) (_ *Board, err error) {
	b := newBoard(store, o)
	b.log = cmp.Or(b.log, slog.New(slog.DiscardHandler))
	b.opts.Keep = cmp.Or(b.opts.Keep, 30*24*time.Hour)
	b.opts.Lease = cmp.Or(b.opts.Lease, LeaseTime)
	b.using = min(usingTime, b.opts.Lease/4)
	b.soon = min(soonTime, b.using/2) // or a delivery is noted just when another one takes the outcome over
	b.news.wakes, b.mark = map[wake]chan struct{}{}, store.Mark
	own, stop := context.WithCancel(context.WithoutCancel(ctx))
	b.own, b.stop = own, stop
	ready, failed := make(chan struct{}), make(chan error, 1)
	b.done.Go(func() {
		defer close(b.ended)
		err := store.Watch(own, b.apply, func() { close(ready) })
		if own.Err() == nil {
			b.log.Error("the questions are no longer followed", "err", err)
		}
		failed <- err
	})
	select {
	case <-ready:
		b.step(func(s *state) { s.loaded = true })
	case err := <-failed:
		b.Close()
		return nil, err
	case <-ctx.Done():
		b.Close()
		return nil, ctx.Err()
	}
	if store.Shared() {
		b.unhear, err = store.Hear(b.told)
	} else if b.Revision() == 0 {
		_, err = store.Mark(ctx) // a store that has no record later has lost them
	}
	if err != nil {
		b.Close()
		return nil, err
	}
	b.done.Go(func() { b.tidy(own) })
	return b, nil
}

func newBoard(store *hubstore.Store, o Options) *Board {
	b := &Board{fixed: fixed{store: store, opts: o, log: o.Logger}, ended: make(chan struct{})}
	b.state = state{
		fixed: &b.fixed, records: map[string]*Record{}, talks: map[talk][]*Record{}, open: map[string]*Record{}, loads: map[string]load{},
		markers: map[string]marker{}, sealed: map[string]uint64{}, leases: map[string]*lease{},
		waiters: map[string]chan struct{}{}, writing: map[string]*writing{},
	}
	return b
}

// Close ends the board. The store stays open.
func (b *Board) Close() {
	if b.unhear != nil {
		b.unhear()
	}
	b.step(func(*state) { b.stop() }) // from now on nothing begins
	b.done.Wait()
}

// begin runs something that [Board.Close] waits for, unless that has begun.
func (b *Board) begin(f func()) {
	b.step(func(*state) {
		if b.own.Err() == nil {
			b.done.Go(f)
		}
	})
}

// Done is closed when the board no longer follows its store.
func (b *Board) Done() <-chan struct{} { return b.ended }

// apply takes a change of the store. It is called for one at a time, in order.
func (b *Board) apply(e hubstore.Entry) {
	r := b.read(e)
	if r != nil {
		r.known = time.Now()
	}
	if r != nil && r.hash == "" {
		r.hash = r.fingerprint()
	}
	b.step(func(s *state) { s.apply(e, r) })
}

// apply notes what a change of the store makes of a record, or that it is gone.
func (s *state) apply(e hubstore.Entry, r *Record) {
	if e.Revision != s.last+1 {
		s.skipped = e.Revision
	}
	s.last = e.Revision
	if r != nil && !s.loaded && !s.store.Shared() && r.owner().State == life.Settled {
		r.End.Taken = r.known // the hub that was here before may have given it to its asker
	}
	if old := s.records[e.Key]; old != nil {
		s.drop(old)
	}
	delete(s.sealed, e.Key)
	if delete(s.markers, e.Key); e.Value == nil && strings.Contains(e.Key, ".") { // a mark is no record
		s.markers[e.Key] = marker{e.Revision, time.Now()}
	}
	switch {
	case r != nil:
		s.put(r)
		s.news.add(r)
	case e.Value != nil:
		s.sealed[e.Key] = e.Revision
		fallthrough
	default:
		delete(s.leases, e.Key)
	}
	s.wake(e.Key)
	s.wake(anyKey)
}

// wake tells those who wait for a change of a record.
func (s *state) wake(key string) {
	if c := s.waiters[key]; c != nil {
		delete(s.waiters, key)
		close(c)
	}
}

// read returns the record that is in a store, or nil if there is none. Its hash is empty
// if that is not known yet.
func (b *Board) read(e hubstore.Entry) *Record {
	if e.Value == nil {
		return nil
	}
	var w *writing
	var old *Record
	b.step(func(s *state) { w, old = s.writing[e.Key], s.records[e.Key] })
	if w != nil && bytes.Equal(w.value, e.Value) {
		r := *w.record
		r.Revision, r.Gone, r.size = e.Revision, false, w.size
		return &r
	}
	r, err := decode(e.Key, e.Value, e.Revision)
	switch {
	case err != nil:
		b.log.Error("a question cannot be read and is left alone", "err", err)
		return nil
	case old != nil && old.Asked.Equal(r.Asked):
		r.hash = old.hash // what is asked in a record stays the same
	}
	return r
}

func (s *state) put(r *Record) {
	s.records[r.key] = r
	talk := s.talks[r.talk()]
	i, _ := slices.BinarySearchFunc(talk, r, byAsked)
	s.talks[r.talk()] = slices.Insert(talk, i, r)
	s.loads[r.Device] = s.loads[r.Device].add(r, 1)
	if r.Open() {
		s.open[r.key] = r
	}
	if l := s.leases[r.key]; l != nil {
		r.Gone = l.gone
	} else if r.Open() || r.held() {
		s.leases[r.key] = &lease{until: time.Now().Add(s.opts.Lease)}
	}
}

func (s *state) drop(r *Record) {
	if s.loads[r.Device] = s.loads[r.Device].add(r, -1); s.loads[r.Device] == (load{}) {
		delete(s.loads, r.Device)
	}
	delete(s.records, r.key)
	delete(s.open, r.key)
	talk := slices.DeleteFunc(s.talks[r.talk()], func(o *Record) bool { return o.key == r.key })
	if len(talk) == 0 {
		delete(s.talks, r.talk())
	} else {
		s.talks[r.talk()] = talk
	}
}

func byAsked(a, b *Record) int {
	return cmp.Or(a.Asked.Compare(b.Asked), strings.Compare(a.key, b.key))
}

// tidy drops what was settled long ago, and notices askers that are gone.
func (b *Board) tidy(ctx context.Context) {
	leases, old := time.NewTicker(min(b.opts.Lease/4, 2*time.Second)), time.NewTicker(min(b.opts.Keep, knownTime))
	defer leases.Stop()
	defer old.Stop()
	for last := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case now := <-leases.C:
			b.attend(now, last)
			last = now
			b.endGone()
			b.probe(ctx)
			if b.store.Shared() {
				b.tellAskers(now)
			}
		case now := <-old.C:
			b.forget(ctx, now)
		}
	}
}

// attend notices askers that are gone. A board that is cut off from the other hubs, or
// has stood still since it looked last, has heard nobody: that silence says nothing.
func (b *Board) attend(now, last time.Time) {
	if !b.store.Connected() || now.Sub(last) > b.opts.Lease/2+time.Second {
		b.spare(now)
	}
	b.expire(now)
}

// knownTime is how long this board has to know an outcome before it drops it,
// unless all are dropped earlier. The clock of another machine said when it was
// settled: one that is behind must not cost an agent its answer.
const knownTime = time.Hour

// fetchTime is how long an answer is kept at least that its asker has not had: the
// agent may be back tomorrow.
const fetchTime = 24 * time.Hour

func (b *Board) forget(ctx context.Context, now time.Time) {
	before, known := now.Add(-b.opts.Keep), now.Add(-min(b.opts.Keep, knownTime))
	old := map[string]uint64{} // revisions by key
	b.step(func(s *state) {
		for key, r := range s.records {
			waits := r.Hold == nil && r.accepted() && r.End.At.After(now.Add(-fetchTime))
			if !r.Open() && !waits && r.End.At.Before(before) && !r.known.After(known) {
				old[key] = r.Revision
			}
		}
	})
	for key, revision := range old {
		if err := b.store.Delete(ctx, key, revision); err != nil && !errors.Is(err, hubstore.ErrConflict) {
			b.log.Warn("an old question could not be removed", "err", err)
			return
		}
	}
	b.dropMarkers(ctx, known)
}
