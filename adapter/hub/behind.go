package hub

import (
	"context"
	"errors"
)

// anyKey is in the place of a key for whoever waits for a change of any record.
const anyKey = ""

// CatchUp waits until the board has seen all that was written before, by any hub
// that shares the store. A hub that is behind must not deny what another one has
// told already.
func (b *Board) CatchUp(ctx context.Context) error {
	if !b.store.Shared() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	revision, err := b.store.Mark(ctx)
	if err != nil {
		b.count.failed()
		return err
	}
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
			return errors.New("the hub is closing")
		}
	}
}

// FindKey returns the record with this key, see [Record.Key].
func (b *Board) FindKey(ctx context.Context, key string) (*Record, error) {
	for caughtUp := false; ; caughtUp = true {
		b.mu.Lock()
		r := b.records[key]
		b.mu.Unlock()
		switch {
		case r != nil:
			return r, nil
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
