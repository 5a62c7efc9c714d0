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
	store *hubstore.Store
	opts  Options
	log   *slog.Logger
	own   context.Context // ends with the board
	stop  context.CancelFunc
	// unhear ends listening to other hubs; nil if there are none.
	unhear func()
	done   sync.WaitGroup
	ended  chan struct{} // closed when the store is no longer watched
	count  counter

	mu      sync.Mutex
	records map[string]*Record // by key
	talks   map[talk][]*Record // in the order of asking
	archive archive
	// fewPast and mostLeft are those of the constants.
	fewPast, mostLeft int
	groups            map[string]bool    // that ever had a question
	open              map[string]*Record // by key
	loads             map[string]load    // of what is open, by device
	markers           map[string]marker  // of what was removed, by key
	refusal           refusal
	mark              func(context.Context) (uint64, error) // writes to the store
	sealed            map[string]uint64                     // revisions, by key, of what a newer hub wrote, or nobody can read
	last              uint64                                // revision that was seen last
	skipped           uint64                                // revision before which others were not seen
	leases            map[string]*lease                     // by key, of what is open or not consumed
	// catching has the catch-up that has not begun, or nil, and whether there is one
	// under way.
	catching struct {
		next    *catchUp
		running bool
	}
	waiters map[string]chan struct{}
	writing map[string]*writing          // by key
	asking  map[sameAsking]chan struct{} // closed when it was asked
	news    news
	loaded  bool // all that there was has been read; what comes now is news
	soon    time.Duration
	using   time.Duration // see usingTime
}

// Open reads all records and follows the store from then on.
func Open(ctx context.Context, store *hubstore.Store, o Options) (_ *Board, err error) {
	b := &Board{
		store: store, opts: o, log: o.Logger, ended: make(chan struct{}),
		records: map[string]*Record{}, talks: map[talk][]*Record{}, archive: newArchive(), fewPast: fewPast, mostLeft: mostLeft, groups: map[string]bool{}, open: map[string]*Record{}, sealed: map[string]uint64{}, loads: map[string]load{}, markers: map[string]marker{},
		leases: map[string]*lease{}, waiters: map[string]chan struct{}{}, writing: map[string]*writing{}, asking: map[sameAsking]chan struct{}{},
	}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	if b.opts.Keep == 0 {
		b.opts.Keep = 30 * 24 * time.Hour
	}
	if b.opts.Lease == 0 {
		b.opts.Lease = LeaseTime
	}
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
		b.mu.Lock()
		b.loaded = true
		b.mu.Unlock()
	case err := <-failed:
		b.Close()
		return nil, err
	case <-ctx.Done():
		b.Close()
		return nil, ctx.Err()
	}
	if store.Shared() {
		if b.unhear, err = store.Hear(b.told); err != nil {
			b.Close()
			return nil, err
		}
	}
	if !store.Shared() {
		b.endLeft()
	}
	b.done.Go(func() { b.tidy(own) })
	b.done.Go(func() { b.archiveSettled(own) })
	return b, nil
}

// Close ends the board. The store stays open.
func (b *Board) Close() {
	if b.unhear != nil {
		b.unhear()
	}
	b.mu.Lock() // from now on nothing begins
	b.stop()
	b.mu.Unlock()
	b.done.Wait()
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
	b.mu.Lock()
	defer b.mu.Unlock()
	if e.Revision != b.last+1 {
		b.skipped = e.Revision
	}
	b.last = e.Revision
	if old := b.records[e.Key]; old != nil {
		if l := b.leases[e.Key]; l != nil && r != nil && r.taker() != old.taker() {
			l.taker = ""
		}
		b.drop(old)
	}
	delete(b.sealed, e.Key)
	b.marked(e)
	switch {
	case strings.HasPrefix(e.Key, listings):
		b.applyListing(e)
	case r != nil:
		b.put(r)
		b.news.add(r)
	case e.Value != nil:
		b.sealed[e.Key] = e.Revision
		fallthrough
	default:
		delete(b.leases, e.Key)
	}
	b.wake(e.Key)
	b.wake(anyKey)
}

// wake tells those who wait for a change of a record. mu is held.
func (b *Board) wake(key string) {
	if c := b.waiters[key]; c != nil {
		delete(b.waiters, key)
		close(c)
	}
}

// read returns the record that is in a store, or nil if there is none. Its hash is empty
// if that is not known yet.
func (b *Board) read(e hubstore.Entry) *Record {
	if e.Value == nil || strings.HasPrefix(e.Key, listings) {
		return nil
	}
	b.mu.Lock()
	w, old := b.writing[e.Key], b.records[e.Key]
	b.mu.Unlock()
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
	case old != nil:
		r.hash = old.hash // what is asked under a key stays the same
	}
	return r
}

func (b *Board) put(r *Record) {
	b.records[r.key] = r
	b.groups[r.Group] = true
	talk := b.talks[r.talk()]
	i, _ := slices.BinarySearchFunc(talk, r, byAsked)
	b.talks[r.talk()] = slices.Insert(talk, i, r)
	if r.Open() {
		b.open[r.key] = r
		b.loads[r.Device] = b.loads[r.Device].add(r, 1)
	}
	if l := b.leases[r.key]; l != nil {
		r.Gone = l.gone
	} else if r.Open() {
		b.leases[r.key] = &lease{until: time.Now().Add(b.opts.Lease)}
	}
}

func (b *Board) drop(r *Record) {
	if b.open[r.key] != nil {
		if b.loads[r.Device] = b.loads[r.Device].add(r, -1); b.loads[r.Device].open == 0 {
			delete(b.loads, r.Device)
		}
	}
	delete(b.records, r.key)
	delete(b.open, r.key)
	delete(b.archive.alone, r.key)
	talk := slices.DeleteFunc(b.talks[r.talk()], func(o *Record) bool { return o.key == r.key })
	if len(talk) == 0 {
		delete(b.talks, r.talk())
	} else {
		b.talks[r.talk()] = talk
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
	b.mu.Lock()
	old := map[string]uint64{} // revisions by key
	for key, r := range b.records {
		waits := !r.Open() && r.Hold == nil && r.unheard() && r.End.At.After(now.Add(-fetchTime))
		if !r.Open() && !waits && r.End.At.Before(before) && !r.known.After(known) {
			old[key] = r.Revision
		}
	}
	b.mu.Unlock()
	for key, revision := range old {
		if err := b.store.Delete(ctx, key, revision); err != nil && !errors.Is(err, hubstore.ErrConflict) {
			b.log.Warn("an old question could not be removed", "err", err)
			return
		}
	}
	if err := b.forgetPast(ctx, before, known); err != nil {
		b.log.Warn("old questions could not be removed", "err", err)
		return
	}
	b.dropMarkers(ctx, known)
}
