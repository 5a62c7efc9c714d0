package hubstore

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
)

// wrote tells of a write that the disk has those who watch a bucket whose server is in this
// process. Nobody else writes there: they read nothing back.
func (s *Store) wrote(e Entry) {
	for w := range s.watches.Range {
		w.(*watch).wrote(e)
	}
}

// wrote tells of a write when all before it were told: replies overtake each other.
func (w *watch) wrote(e Entry) {
	w.Step(func() {
		if e.Revision > w.last {
			w.ahead[e.Revision] = e
			w.goOn()
		}
	})
}

// goOn tells what is next. It is called in a step.
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
	w.Step(func() {
		w.own, w.last = true, max(w.last, told)
		w.skip(w.last)
		w.goOn()
	})
	quiet, beat := time.NewTicker(quietTime), time.NewTicker(beatTime)
	atBeat := w.told()
	for last := atBeat; !w.conn.IsClosed(); last = w.told() {
		select {
		case <-quiet.C:
			if last == w.told() && len(w.waiting()) > 0 {
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

// waiting are the revisions of writes that cannot be told yet, in order.
func (w *watch) waiting() (ahead []uint64) {
	w.Step(func() { ahead = slices.Sorted(maps.Keys(w.ahead)) })
	return ahead
}

// fill asks the server for what was not told, and comes before writes that wait, if there
// are any: a write whose reply is lost is known to nobody else, and one that has failed may
// have used up its revision.
func (w *watch) fill(ctx context.Context) {
	for {
		ahead := w.waiting()
		switch err := w.askOnce(ctx); {
		case errors.Is(err, nats.ErrMsgNotFound) && len(ahead) > 0: // they were removed since
			w.Step(func() {
				w.last = max(w.last, ahead[0]-1)
				w.goOn()
			})
		case err != nil:
			return // it is asked again
		}
	}
}

// skip forgets writes up to a revision. It is called in a step.
func (w *watch) skip(revision uint64) {
	maps.DeleteFunc(w.ahead, func(r uint64, _ Entry) bool { return r <= revision })
}
