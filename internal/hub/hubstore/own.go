package hubstore

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// watches are those of a bucket whose server is in this process. Nobody else writes
// there: they are told of a write by whoever made it, once the disk has it, and read
// nothing back. The zero value works.
type watches struct {
	mu   sync.Mutex
	list []*watch
}

func (l *watches) add(w *watch) (remove func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(slices.Clip(l.list), w)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.list = slices.DeleteFunc(slices.Clone(l.list), func(o *watch) bool { return o == w })
	}
}

// wrote tells of a write that the disk has.
func (s *Store) wrote(e Entry) {
	s.watches.mu.Lock()
	list := s.watches.list
	s.watches.mu.Unlock()
	for _, w := range list {
		w.wrote(e)
	}
}

// wrote tells of a write when all before it were told: replies overtake each other.
func (w *watch) wrote(e Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.Revision > w.last {
		w.ahead[e.Revision] = e
		w.goOn()
	}
}

// goOn tells what is next. mu is held.
func (w *watch) goOn() {
	for e, ok := w.ahead[w.last+1]; w.own && ok; e, ok = w.ahead[w.last+1] {
		delete(w.ahead, e.Revision)
		w.take(e)
	}
}

// followOwn tells of writes until the store is closed. What there was up to a revision
// was told.
func (w *watch) followOwn(ctx context.Context, told uint64) error {
	closed := w.conn.StatusChanged(nats.CLOSED)
	defer w.conn.RemoveStatusListener(closed)
	w.mu.Lock()
	w.own, w.last = true, max(w.last, told)
	w.skip(w.last)
	w.goOn()
	w.mu.Unlock()
	quiet, beat := time.NewTicker(quietTime), time.NewTicker(beatTime)
	defer quiet.Stop()
	defer beat.Stop()
	atBeat := w.told()
	for last := atBeat; !w.conn.IsClosed(); last = w.told() {
		select {
		case <-quiet.C:
			if last == w.told() && w.waits() {
				w.fill(ctx)
			}
		case <-beat.C:
			if atBeat == w.told() {
				w.fill(ctx)
			}
			atBeat = w.told()
		case <-closed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nats.ErrConnectionClosed
}

// waits reports whether there are writes that cannot be told yet.
func (w *watch) waits() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.ahead) > 0
}

// fill asks the server for what was not told, and comes before writes that wait, if there
// are any: a write whose reply is lost is known to nobody else, and one that has failed may
// have used up its revision.
func (w *watch) fill(ctx context.Context) {
	for {
		w.mu.Lock()
		ahead := slices.Sorted(maps.Keys(w.ahead))
		w.mu.Unlock()
		switch err := w.askOnce(ctx); {
		case errors.Is(err, nats.ErrMsgNotFound) && len(ahead) > 0: // they were removed since
			w.mu.Lock()
			w.last = max(w.last, ahead[0]-1)
			w.goOn()
			w.mu.Unlock()
		case err != nil:
			return // it is asked again
		}
	}
}

// skip forgets writes up to a revision. mu is held.
func (w *watch) skip(revision uint64) {
	maps.DeleteFunc(w.ahead, func(r uint64, _ Entry) bool { return r <= revision })
}
