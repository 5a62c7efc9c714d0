package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

// lockPast locks the board and returns the archived questions that are wanted, in the
// order of asking, of those volumes that pick returns while it is locked. It stays locked.
// What is not in the archive any more is not among them.
func (b *Board) lockPast(pick func(*archive) []*volume, wanted func(bound) bool) (list []*Record, err error) {
	b.mu.Lock()
	for {
		volumes, changes := pick(&b.archive), b.archive.changes
		if len(volumes) == 0 {
			return nil, nil
		}
		b.mu.Unlock()
		list, err = b.readPast(volumes, wanted)
		b.mu.Lock()
		if b.archive.changes == changes {
			list = slices.DeleteFunc(list, func(r *Record) bool { return b.records[r.key] != nil })
			slices.SortFunc(list, byAsked)
			return list, err
		}
	}
}

// lockRecord locks the board and returns the record with a key, or nil. It stays locked.
func (b *Board) lockRecord(key string) (*Record, error) {
	list, err := b.lockPast(func(a *archive) []*volume {
		if b.records[key] != nil {
			return nil
		}
		return a.holding(key)
	}, func(q bound) bool { return q.key == key })
	if live := b.records[key]; live != nil {
		return live, nil
	}
	if len(list) > 0 {
		return list[len(list)-1], nil
	}
	return nil, err
}

// get is lockRecord, and leaves the board unlocked.
func (b *Board) get(key string) (*Record, error) {
	defer b.mu.Unlock()
	return b.lockRecord(key)
}

func (b *Board) readPast(volumes []*volume, wanted func(bound) bool) (list []*Record, err error) {
	for _, v := range volumes {
		bounds, err := b.contents(b.own, v)
		if err != nil {
			return nil, err
		}
		for _, q := range bounds {
			if !wanted(q) {
				continue
			}
			if r := b.readable(q); r != nil {
				list = append(list, r)
			}
		}
	}
	return list, nil
}

// readable is the record of an archived question, or nil if it cannot be read.
func (b *Board) readable(q bound) *Record {
	r, err := q.record()
	if err != nil {
		b.log.Error("a settled question cannot be read and is left alone", "err", err)
		return nil
	}
	return r
}

// contents are the questions of a volume. One that is lost has none, and of one that is
// damaged there are those before the damage: whatever else is asked for is found.
func (b *Board) contents(ctx context.Context, v *volume) ([]bound, error) {
	a := &b.archive
	a.mu.Lock()
	if i := slices.IndexFunc(a.read, func(o book) bool { return o.key == v.Value }); i >= 0 {
		found := a.read[i]
		copy(a.read[1:], a.read[:i])
		a.read[0] = found
		a.mu.Unlock()
		return found.list, nil
	}
	a.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	list, err := b.fetch(ctx, v)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.read = slices.Insert(a.read, 0, book{v.Value, list})
	a.read = a.read[:min(len(a.read), mostRead)]
	return list, nil
}

// fetch reads a volume from the store.
func (b *Board) fetch(ctx context.Context, v *volume) ([]bound, error) {
	store, err := b.beside(ctx)
	if err != nil {
		return nil, err
	}
	e, err := store.Get(ctx, v.Value)
	if errors.Is(err, hubstore.ErrNotFound) { // a server of a cluster may be behind
		e, err = store.Last(ctx, v.Value)
	}
	if errors.Is(err, hubstore.ErrNotFound) { // another hub may have written it anew
		if err := b.CatchUp(ctx); err != nil {
			return nil, err
		}
		b.mu.Lock()
		same := b.archive.volumes[v.key] == v
		b.mu.Unlock()
		if !same {
			return nil, fmt.Errorf("volume %s: %w", v.key, hubstore.ErrConflict)
		}
		b.log.Error("settled questions are lost", "volume", v.key)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list, err := unbind(v.Value, e.Value)
	if err != nil {
		b.log.Error("settled questions are lost", "volume", v.key, "err", errVolume)
	}
	return list, nil
}

// beside is the store of the volumes.
func (b *Board) beside(ctx context.Context) (*hubstore.Store, error) {
	b.archive.mu.Lock()
	defer b.archive.mu.Unlock()
	if b.archive.store == nil {
		store, err := b.store.Beside(ctx, "_settled", "settled questions, many in a value")
		if err != nil {
			return nil, err
		}
		b.archive.store = store
	}
	return b.archive.store, nil
}

// applyListing takes a change of a listing. mu is held.
func (b *Board) applyListing(e hubstore.Entry) {
	b.archive.remove(e.Key)
	if e.Value == nil {
		return
	}
	v := &volume{key: e.Key, revision: e.Revision, seen: time.Now()}
	head, entries, err := readListing(e.Value, b.archive.listed)
	if err != nil {
		b.log.Error("a list of settled questions cannot be read and is left alone", "volume", e.Key, "err", err)
		b.sealed[e.Key] = e.Revision
		return
	}
	v.listing, b.archive.listed = head, entries
	b.archive.add(v, entries)
	for _, group := range v.Groups {
		b.groups[group] = true
	}
	b.dropArchived(v, entries)
}

// dropArchived forgets the records that a volume has. Where this board did not see what
// became of one last, whoever waits for that is told. mu is held.
func (b *Board) dropArchived(v *volume, entries []listed) {
	type question struct {
		talk, name uint64
		generation uint32
	}
	var revisions map[question]uint64
	var unseen []string
	for key, r := range b.records {
		if r.Revision > v.Newest {
			continue
		}
		if revisions == nil {
			revisions = make(map[question]uint64, len(entries))
			for _, l := range entries {
				revisions[question{l.talk, l.name, l.generation}] = l.revision
			}
		}
		talk, name, generation := parts(key)
		revision, found := revisions[question{talk, name, generation}]
		if !found || revision < r.Revision {
			continue
		}
		b.drop(r)
		delete(b.leases, key)
		b.archive.left = append(b.archive.left, value{key, revision, time.Now()})
		if revision > r.Revision {
			unseen = append(unseen, key)
		}
		b.wake(key)
	}
	if len(unseen) > 0 && b.loaded && b.own.Err() == nil {
		b.done.Go(func() {
			for _, key := range unseen {
				if r, err := b.lockRecord(key); err == nil && r != nil {
					b.news.add(r)
				}
				b.mu.Unlock()
			}
		})
	}
}
