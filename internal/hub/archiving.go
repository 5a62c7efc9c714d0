package hub

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

// over reports whether nothing more happens with a question.
func (r *Record) over() bool {
	return !r.Open() && (!r.End.Consumed.IsZero() || r.End.Undelivered != "")
}

// archiveSettled archives what is settled, as long as the board is open.
func (b *Board) archiveSettled(ctx context.Context) {
	tick := time.NewTicker(pastTime / 5)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			b.settleDown(ctx, now)
		}
	}
}

// settleDown archives what has been over for a while, if it is much.
func (b *Board) settleDown(ctx context.Context, now time.Time) {
	b.archive.settling.Lock()
	defer b.archive.settling.Unlock()
	if now.Before(b.archive.again) {
		return
	}
	b.mu.Lock()
	var over []*Record
	for key, r := range b.records {
		if r.over() && b.leases[key] == nil && now.Sub(r.known) >= pastTime && !b.archive.alone[key] {
			over = append(over, r)
		}
	}
	few := b.fewPast
	b.mu.Unlock()
	if len(over) > few {
		slices.SortFunc(over, func(x, y *Record) int { return -x.Place().behind(y.Place()) })
		for over = over[:len(over)-few/2]; len(over) > 0; {
			n, err := b.archiveSome(ctx, over)
			if err != nil {
				b.putOff(ctx, now, "settled questions stay in memory", err)
				break
			}
			over = over[n:]
		}
	}
	if err := b.purge(ctx, now); err != nil {
		b.putOff(ctx, now, "archived questions stay in the store twice", err)
	}
}

// putOff tells why something is tried again in a minute, unless another hub is at it.
func (b *Board) putOff(ctx context.Context, now time.Time, what string, err error) {
	if ctx.Err() == nil && !errors.Is(err, hubstore.ErrConflict) {
		b.log.Warn(what, "err", err)
		b.archive.again = now.Add(time.Minute)
	}
}

// archiveSome archives the first ones of a list, and returns how many.
func (b *Board) archiveSome(ctx context.Context, over []*Record) (n int, err error) {
	var list []bound
	for bytes := 0; n < len(over) && len(list) < mostBound && bytes < boundBytes; n++ {
		if err := b.unarchive(ctx, over[n].key, over[n].Revision); err != nil {
			return 0, err
		}
		q := boundOf(over[n])
		list, bytes = append(list, q), bytes+len(q.value)
	}
	return n, b.archiveAs(ctx, list)
}

// archiveAs writes questions as a volume, or as several if they do not fit into one. If
// another hub is at it, it fails with [hubstore.ErrConflict].
func (b *Board) archiveAs(ctx context.Context, list []bound) error {
	if len(list) == 0 {
		return nil
	}
	store, err := b.beside(ctx)
	if err != nil {
		return err
	}
	name := strings.ToLower(rand.Text())
	volume, told := bind(list, name)
	if limit := store.Limit(); max(len(volume), len(told)) > limit-limit/8 { // what is removed later leaves a word
		if len(list) == 1 {
			b.mu.Lock()
			b.archive.alone[list[0].key] = true
			b.mu.Unlock()
			return nil
		}
		half := len(list) / 2
		return errors.Join(b.archiveAs(ctx, list[:half]), b.archiveAs(ctx, list[half:]))
	}
	key, err := b.nextListing(list)
	if err != nil {
		return err
	}
	if err := b.replaceVolume(ctx, name, volume, func(ctx context.Context) (uint64, error) { return b.store.Create(ctx, key, told) }); err != nil {
		return err
	}
	for _, q := range list {
		b.mu.Lock()
		r := b.records[q.key]
		b.mu.Unlock()
		if r != nil { // it has changed meanwhile: its words may have been removed
			if err := b.unarchive(ctx, q.key, r.Revision); err != nil {
				return err
			}
		}
	}
	return nil
}

// nextListing is the key for the listing of questions that are not archived yet: whoever
// archives one of them first has it.
func (b *Board) nextListing(list []bound) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, q := range list {
		if r := b.records[q.key]; r == nil || r.Revision != q.revision {
			return "", fmt.Errorf("archive %q: %w", q.key, hubstore.ErrConflict)
		}
	}
	last := 0
	for _, keys := range []iter.Seq[string]{maps.Keys(b.archive.volumes), maps.Keys(b.sealed)} {
		for key := range keys {
			if number, found := strings.CutPrefix(key, listings); found {
				n, _ := strconv.Atoi(number)
				last = max(last, n)
			}
		}
	}
	return fmt.Sprint(listings, last+1), nil
}

// replaceVolume writes a volume, then what tells of it, and waits until the board knows.
// If that cannot be told, the volume is removed again.
func (b *Board) replaceVolume(ctx context.Context, name string, volume []byte, tell func(context.Context) (uint64, error)) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	store, err := b.beside(ctx)
	if err != nil {
		return err
	}
	if _, err := store.Create(ctx, name, volume); err != nil {
		return err
	}
	revision, err := tell(ctx)
	if errors.Is(err, hubstore.ErrConflict) { // nobody was told
		return errors.Join(err, store.Purge(ctx, name, 0))
	}
	if err != nil {
		return err // it may have been told
	}
	return b.reach(ctx, revision)
}

// rebind writes a volume anew, with what change makes of its questions, or without those
// of which it returns false.
func (b *Board) rebind(ctx context.Context, key string, may func(context.Context) error, change func(bound) (bound, bool)) error {
	for {
		b.mu.Lock()
		v := b.archive.volumes[key]
		b.mu.Unlock()
		if v == nil {
			return nil
		}
		if err := b.rebindOnce(ctx, v, may, change); !errors.Is(err, hubstore.ErrConflict) {
			return err
		}
	}
}

// rebindOnce is rebind, and fails with [hubstore.ErrConflict] if the volume is not as it
// was any more. The board knows by then how it is.
func (b *Board) rebindOnce(ctx context.Context, v *volume, may func(context.Context) error, change func(bound) (bound, bool)) error {
	b.archive.binding.Lock()
	defer b.archive.binding.Unlock()
	list, err := b.contents(ctx, v)
	if err != nil {
		return err
	}
	var next []bound
	changes := map[string]bool{}
	for _, q := range list {
		changed, keep := change(q)
		if keep {
			next = append(next, changed)
		}
		if !keep || &changed.value[0] != &q.value[0] {
			changes[q.key] = true
		}
	}
	if len(changes) == 0 {
		return nil
	}
	if may != nil {
		if err := may(ctx); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime) // who hangs up leaves nothing half done
	defer cancel()
	if err := b.purgeLeft(ctx, changes); err != nil {
		return err
	}
	if err = b.rebindAs(ctx, v, next, may); errors.Is(err, hubstore.ErrConflict) {
		return cmp.Or(b.CatchUp(ctx), err)
	}
	return err
}

// rebindAs puts questions in place of those of a volume.
func (b *Board) rebindAs(ctx context.Context, v *volume, list []bound, may func(context.Context) error) error {
	if len(list) == 0 {
		return b.removeVolume(ctx, v)
	}
	name := strings.ToLower(rand.Text())
	volume, told := bind(list, name)
	err := b.replaceVolume(ctx, name, volume, func(ctx context.Context) (uint64, error) {
		return b.store.UpdateIf(ctx, v.key, told, v.revision, may)
	})
	if err != nil {
		return err
	}
	return b.purgeVolume(ctx, v)
}

// writeArchived writes what became of an archived question, where it is.
func (b *Board) writeArchived(ctx context.Context, r *Record, may func(context.Context) error) (*Record, error) {
	b.mu.Lock()
	var v *volume
	for _, o := range b.archive.holding(r.key) {
		if o.Value == r.archived {
			v = o
		}
	}
	live := b.records[r.key] != nil
	b.mu.Unlock()
	if v == nil || live {
		return nil, fmt.Errorf("write %q: %w", r.key, hubstore.ErrConflict)
	}
	err := b.rebindOnce(ctx, v, may, func(q bound) (bound, bool) {
		if q.key == r.key {
			q = boundOf(r)
		}
		return q, true
	})
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.news.add(r)
	return r, nil
}

// unarchive removes a question from the archive, if it is there as it was before a
// revision: a hub archived it that did not know yet.
func (b *Board) unarchive(ctx context.Context, key string, before uint64) error {
	b.mu.Lock()
	volumes := b.archive.holding(key)
	b.mu.Unlock()
	for _, v := range volumes {
		if err := b.rebind(ctx, v.key, nil, func(q bound) (bound, bool) { return q, q.key != key || q.revision >= before }); err != nil {
			return err
		}
	}
	return nil
}
