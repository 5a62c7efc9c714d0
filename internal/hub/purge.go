package hub

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

// purgeVolume removes the questions of a volume that nothing tells of any more, or will.
func (b *Board) purgeVolume(ctx context.Context, v *volume) error {
	store, err := b.beside(ctx)
	if err != nil {
		return err
	}
	return store.Purge(ctx, v.Value, 0)
}

// purgeLeft removes the values of archived questions that are still in the board's own
// bucket: they must not outlive what becomes of them in the archive.
func (b *Board) purgeLeft(ctx context.Context, keys map[string]bool) error {
	b.mu.Lock()
	left := slices.Clone(b.archive.left)
	b.mu.Unlock()
	for _, l := range left {
		if keys[l.key] {
			if err := b.store.Purge(ctx, l.key, l.revision+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeVolume removes a volume, and then what tells of it.
func (b *Board) removeVolume(ctx context.Context, v *volume) error {
	if err := b.purgeVolume(ctx, v); err != nil {
		return err
	}
	return b.store.Delete(ctx, v.key, v.revision)
}

// purge removes archived values from the board's own bucket: those before the first one
// that is needed, which costs little, and of the others the first ones where there are
// many.
func (b *Board) purge(ctx context.Context, now time.Time) error {
	a := &b.archive
	b.mu.Lock()
	slices.SortFunc(a.left, func(x, y value) int { return cmp.Compare(x.revision, y.revision) })
	var before, young uint64 = 0, math.MaxUint64
	for _, l := range a.left {
		if now.Sub(l.since) < leftTime {
			young = min(young, l.revision)
		} else {
			before = l.revision + 1
		}
	}
	before = min(before, young)
	for _, r := range b.records {
		before = min(before, r.Revision)
	}
	stays := func(key string, revision uint64) {
		if !strings.HasPrefix(key, listings) { // those are not purged
			before = min(before, revision)
		}
	}
	for key, m := range b.markers {
		stays(key, m.revision)
	}
	for key, revision := range b.sealed {
		stays(key, revision)
	}
	n, _ := slices.BinarySearchFunc(a.left, before, func(v value, before uint64) int { return cmp.Compare(v.revision, before) })
	most, _ := slices.BinarySearchFunc(a.left, young, func(v value, young uint64) int { return cmp.Compare(v.revision, young) })
	alone := slices.Clone(a.left[n:max(n, min(most, len(a.left)-b.mostLeft))])
	b.mu.Unlock()
	if n > 0 {
		for _, keys := range []string{"*.*.*", "*.*.*.*"} { // see [placeOf]
			if err := b.store.Purge(ctx, keys, before); err != nil {
				return err
			}
		}
	}
	for _, v := range alone {
		if err := b.store.Purge(ctx, v.key, v.revision+1); err != nil {
			return err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	a.left = a.left[n+len(alone):] // others may have been added behind
	return nil
}

// forgetPast drops archived questions that were settled before a time and are known for
// long enough, and volumes that nothing tells of any more.
func (b *Board) forgetPast(ctx context.Context, before, known time.Time) error {
	b.mu.Lock()
	all := b.archive.all()
	b.mu.Unlock()
	for _, v := range all {
		if !v.From.Before(before) || v.seen.After(known) {
			continue
		}
		if err := b.rebind(ctx, v.key, nil, func(q bound) (bound, bool) { return q, !q.at.Before(before) }); err != nil {
			return err
		}
		b.mu.Lock()
		unread := v.To.Before(before) && b.archive.volumes[v.key] == v
		b.mu.Unlock()
		if !unread {
			continue
		}
		if err := b.removeVolume(ctx, v); err != nil && !errors.Is(err, hubstore.ErrConflict) {
			return err
		}
	}
	return b.dropLost(ctx)
}

// dropLost removes volumes that no listing has now, nor had when this was called before:
// a hub ended when it had written one, or before it had removed one.
func (b *Board) dropLost(ctx context.Context) error {
	b.mu.Lock()
	none := len(b.archive.volumes) == 0 && len(b.archive.lost) == 0
	for key := range b.sealed {
		none = none || strings.HasPrefix(key, listings) // nobody here knows what that tells of
	}
	b.mu.Unlock()
	if none {
		return nil
	}
	store, err := b.beside(ctx)
	if err != nil {
		return err
	}
	keys, err := store.Keys(ctx)
	if err != nil {
		return err
	}
	if err := b.CatchUp(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	listed := map[string]bool{}
	for _, v := range b.archive.volumes {
		listed[v.Value] = true
	}
	lost, before := map[string]bool{}, b.archive.lost
	for _, key := range keys {
		if !listed[key] {
			lost[key] = true
		}
	}
	b.archive.lost = lost
	b.mu.Unlock()
	for key := range lost {
		if before[key] {
			if err := store.Purge(ctx, key, 0); err != nil {
				return err
			}
		}
	}
	return nil
}
