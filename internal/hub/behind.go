package hub

import (
	"context"
	"errors"
)

// anyKey is in the place of a key for whoever waits for a change of any record.
const anyKey = ""

var errClosing = errors.New("the hub is closing")

// CatchUp waits until the board has seen all that was written before, by any hub that
// shares the store. A stale hub must not deny what another has already told.
func (b *Board) CatchUp(ctx context.Context) error {
	if !b.store.Shared() {
		return nil
	}
	one := peek(b, func(s *state) *catchUp {
		if s.own.Err() != nil {
			return nil
		}
		if s.catching.next == nil {
			s.catching.next = &catchUp{done: make(chan struct{})}
		}
		if !s.catching.running {
			s.catching.running = true
			b.done.Go(b.catchUps)
		}
		return s.catching.next
	})
	if one == nil {
		return errClosing
	}
	select {
	case <-one.done:
		return one.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// catchUp is one for all who wait when it begins: each has its cost, and two at a
// time would skip each other's marks.
type catchUp struct {
	done chan struct{}
	err  error
}

// catchUps does one after another, until nobody waits.
func (b *Board) catchUps() {
	for {
		one := peek(b, func(s *state) *catchUp {
			one := s.catching.next
			s.catching.next, s.catching.running = nil, one != nil
			return one
		})
		if one == nil {
			return
		}
		one.err = b.catchUp()
		close(one.done)
	}
}

// catchUp waits until a mark is seen that was written after all else. That is not
// enough if something was skipped on the way. The store has the last value of a
// key only: of a question that was asked before the mark and answered after it,
// the answer comes next, and until then the question seems not to be there. What
// was skipped comes before a mark that is written later, unless it is skipped once
// more, which happens to a record no more often than it is written.
func (b *Board) catchUp() error {
	ctx, cancel := context.WithTimeout(b.own, writeTime)
	defer cancel()
	for range mostWrites {
		skipped := peek(b, func(s *state) uint64 { return s.skipped })
		revision, err := b.store.Mark(ctx)
		if err != nil {
			b.count.Step(func(s *Stats) { s.Failed++ })
			return err
		}
		if err := b.reach(ctx, revision); err != nil {
			return err
		}
		if peek(b, func(s *state) bool { return skipped == s.skipped }) {
			return nil
		}
	}
	return nil
}

// mostWrites is more than how often a record is written while this runs: it is asked, settled,
// taken and consumed within a moment at most; what else is written of it is seconds apart.
const mostWrites = 6

// reach waits until the board has seen a revision.
func (b *Board) reach(ctx context.Context, revision uint64) error {
	for {
		var seen bool
		var changed <-chan struct{}
		b.step(func(s *state) { seen, changed = s.last >= revision, s.changed(anyKey) })
		if seen {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-b.ended:
			return errClosing
		}
	}
}

// current returns the record that ref names, as find does. If it is not as it
// should be for what is to be done, others may have changed it, or asked anew.
func (b *Board) current(ctx context.Context, ref Ref, fits func(*Record) bool) (*Record, error) {
	r, err := b.find(ref)
	if err == nil && fits(r) || err != nil && !errors.Is(err, ErrNotFound) {
		return r, err
	}
	if err := b.CatchUp(ctx); err != nil {
		return nil, err
	}
	return b.find(ref)
}
