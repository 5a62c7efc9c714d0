package hub

import (
	"context"
	"errors"
)

// anyKey is in the place of a key for whoever waits for a change of any record.
const anyKey = ""

var errClosing = errors.New("the hub is closing")

// CatchUp waits until the board has seen all that was written before, by any hub
// that shares the store. A hub that is behind must not deny what another one has
// told already.
func (b *Board) CatchUp(ctx context.Context) error {
	if !b.store.Shared() {
		return nil
	}
	b.mu.Lock()
	if b.own.Err() != nil {
		b.mu.Unlock()
		return errClosing
	}
	one := b.catching.next
	if one == nil {
		one = &catchUp{done: make(chan struct{})}
		b.catching.next = one
	}
	if !b.catching.running {
		b.catching.running = true
		b.done.Go(b.catchUps)
	}
	b.mu.Unlock()
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
		b.mu.Lock()
		one := b.catching.next
		b.catching.next = nil
		b.catching.running = one != nil
		b.mu.Unlock()
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
		b.mu.Lock()
		skipped := b.skipped
		b.mu.Unlock()
		revision, err := b.store.Mark(ctx)
		if err != nil {
			b.count.failed()
			return err
		}
		if err := b.reach(ctx, revision); err != nil {
			return err
		}
		b.mu.Lock()
		same := skipped == b.skipped
		b.mu.Unlock()
		if same {
			return nil
		}
	}
	return nil
}

// mostWrites is more than how often a record is written: it is asked, settled,
// delivered, consumed, and forgotten.
const mostWrites = 6

// reach waits until the board has seen a revision.
func (b *Board) reach(ctx context.Context, revision uint64) error {
	for {
		b.mu.Lock()
		seen, changed := b.last >= revision, b.changed(anyKey)
		b.mu.Unlock()
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

// FindKey returns the record with this key, see [Record.Key].
func (b *Board) FindKey(ctx context.Context, key string) (*Record, error) {
	for caughtUp := false; ; caughtUp = true {
		r, err := b.get(key)
		switch {
		case err != nil || r != nil:
			return r, err
		case caughtUp:
			return nil, ErrNotFound
		}
		if err := b.CatchUp(ctx); err != nil {
			return nil, err
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
