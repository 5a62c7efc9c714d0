package hub

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

// archive is where settled questions are found with which nothing more happens: there are
// many, and hardly anybody looks at one again. They are on disk, see [volume]; in memory
// is what it takes to know in which volume a question is, if it is in any.
type archive struct {
	volumes map[string]*volume // by the keys of their listings
	slots   []*volume          // nil for one that is gone
	entries []entry
	talks   map[uint64]lastAsked // by the hashes of their keys
	gone    int                  // entries whose volume is gone
	changes uint64
	// left are values of archived questions that are still in the board's own bucket, in the
	// order of their revisions.
	left []value
	// alone are the keys of what fits into no volume, and lost those of volumes that no
	// listing had when they were looked for last.
	alone, lost map[string]bool

	settling sync.Mutex // held while questions are archived
	again    time.Time  // not before then, because it failed
	binding  sync.Mutex // held while a volume is written anew

	mu    sync.Mutex
	store *hubstore.Store // of the volumes; nil until there is one
	read  []book          // the last volumes that were read, the last first
}

// entry is a question in a volume. It has no pointers: there are many.
type entry struct {
	name       uint64 // hash
	asked      int64
	slot       uint32
	generation uint32
	before     int32 // the one of the same conversation, counted from 1
}

// lastAsked is the last entry of a conversation, counted from 1, and when its last
// question was asked.
type lastAsked struct {
	entry int32
	asked int64
}

type value struct {
	key      string
	revision uint64
	since    time.Time // it is archived
}

type book struct {
	key  string
	list []bound
}

const (
	// pastTime is for how long a record stays in memory after its last change: whoever is
	// told of it looks at it then.
	pastTime = 10 * time.Second
	// fewPast is how many may stay for longer: most hubs have no more, and need no volumes.
	fewPast = 2000
	// mostBound and boundBytes bound a volume.
	mostBound  = 1000
	boundBytes = 1 << 20
	// leftTime is for how long an archived value stays in the bucket: more than [writeTime].
	// Whoever asks the question meanwhile at a hub that has not seen it is told so.
	leftTime = time.Minute
	// readTime bounds the reading of a volume.
	readTime = 5 * time.Second
	// mostLeft is how many archived values are left in the bucket behind one that is needed
	// for long, before they are removed one by one.
	mostLeft = 10_000
	// mostRead is how many volumes that were read stay in memory.
	mostRead = 8
)

func newArchive() archive {
	return archive{volumes: map[string]*volume{}, talks: map[uint64]lastAsked{}, alone: map[string]bool{}}
}

// over reports whether nothing more happens with a question.
func (r *Record) over() bool {
	return !r.Open() && (!r.End.Consumed.IsZero() || r.End.Undelivered != "")
}

// add makes a volume known.
func (a *archive) add(v *volume, entries []listed) {
	v.slot, v.count = uint32(len(a.slots)), len(entries)
	a.volumes[v.key], a.slots = v, append(a.slots, v)
	for _, l := range entries {
		a.link(l.talk, entry{name: l.name, asked: l.asked, slot: v.slot, generation: l.generation})
	}
	a.changes++
}

func (a *archive) link(talk uint64, e entry) {
	in := a.talks[talk]
	e.before = in.entry
	a.entries = append(a.entries, e)
	a.talks[talk] = lastAsked{int32(len(a.entries)), max(in.asked, e.asked)}
}

// remove forgets a volume, if there is one.
func (a *archive) remove(key string) {
	v := a.volumes[key]
	if v == nil {
		return
	}
	delete(a.volumes, key)
	a.slots[v.slot] = nil
	a.gone += v.count
	if a.changes++; a.gone > len(a.entries)/2 {
		a.rebuild()
	}
}

// rebuild leaves out the entries whose volume is gone.
func (a *archive) rebuild() {
	old := archive{entries: a.entries, talks: a.talks, slots: a.slots, gone: a.gone}
	talks := make([]uint64, len(old.entries))
	for talk, last := range old.talks {
		for n := last.entry; n > 0; n = old.entries[n-1].before {
			talks[n-1] = talk
		}
	}
	a.slots = slices.DeleteFunc(slices.Clone(old.slots), func(v *volume) bool { return v == nil })
	slots := make([]uint32, len(old.slots)) // by what they were
	for i, v := range a.slots {
		slots[v.slot], v.slot = uint32(i), uint32(i)
	}
	a.entries, a.talks, a.gone = make([]entry, 0, len(old.entries)-old.gone), map[uint64]lastAsked{}, 0
	for i, e := range old.entries {
		if old.slots[e.slot] != nil {
			e.slot = slots[e.slot]
			a.link(talks[i], e)
		}
	}
}

// hash is that of a conversation, where any may be archived.
func (a *archive) hash(t talk) uint64 {
	if len(a.volumes) == 0 {
		return 0 // most hubs have no volumes
	}
	return hashed(t.place())
}

// in calls f with each entry of a conversation, the last first.
func (a *archive) in(talk uint64, f func(entry, *volume)) {
	for n := a.talks[talk].entry; n > 0; n = a.entries[n-1].before {
		if e := a.entries[n-1]; a.slots[e.slot] != nil {
			f(e, a.slots[e.slot])
		}
	}
}

// having are the volumes with an entry of a conversation that is wanted.
func (a *archive) having(talk uint64, wanted func(entry) bool) (list []*volume) {
	a.in(talk, func(e entry, v *volume) {
		if wanted(e) && !slices.Contains(list, v) {
			list = append(list, v)
		}
	})
	return list
}

// has reports whether there is a question of a conversation.
func (a *archive) has(t talk) (found bool) {
	a.in(a.hash(t), func(entry, *volume) { found = true })
	return found
}

// all are the volumes, the one with the last question first.
func (a *archive) all() []*volume {
	return slices.SortedFunc(maps.Values(a.volumes), func(x, y *volume) int { return cmp.Or(y.To.Compare(x.To), strings.Compare(x.key, y.key)) })
}

// holding are the volumes that have the question with a key.
func (a *archive) holding(key string) []*volume {
	in, name, generation := parts(key)
	return a.having(in, func(e entry) bool { return e.name == name && e.generation == generation })
}

// named are the volumes that have questions with an id in a conversation.
func (a *archive) named(t talk, id string) []*volume {
	if len(a.volumes) == 0 {
		return nil
	}
	name := hashed(short(id))
	return a.having(a.hash(t), func(e entry) bool { return e.name == name })
}

// since are the volumes that have questions of a conversation which were asked at a time
// or later, or all if that is zero.
func (a *archive) since(t talk, at time.Time) []*volume {
	return a.having(a.hash(t), func(e entry) bool { return at.IsZero() || e.asked >= at.UnixNano() })
}

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
	head, entries, err := readListing(e.Value)
	if err != nil {
		b.log.Error("a list of settled questions cannot be read and is left alone", "volume", e.Key, "err", err)
		b.sealed[e.Key] = e.Revision
		return
	}
	v.listing = head
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
	if err != nil {
		return err
	}
	return b.purgeVolume(ctx, v)
}

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

func (b *Board) rebindAs(ctx context.Context, v *volume, list []bound, may func(context.Context) error) error {
	if len(list) == 0 {
		return b.removeVolume(ctx, v)
	}
	name := strings.ToLower(rand.Text())
	volume, told := bind(list, name)
	return b.replaceVolume(ctx, name, volume, func(ctx context.Context) (uint64, error) {
		return b.store.UpdateIf(ctx, v.key, told, v.revision, may)
	})
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

// removeVolume removes a volume, and then what tells of it.
func (b *Board) removeVolume(ctx context.Context, v *volume) error {
	if err := b.purgeVolume(ctx, v); err != nil {
		return err
	}
	return b.store.Delete(ctx, v.key, v.revision)
}

// unarchive removes a question from the archive, if it is there as it was before a
// revision: a hub archived it that did not know yet.
func (b *Board) unarchive(ctx context.Context, key string, before uint64) error {
	b.mu.Lock()
	var volumes []*volume
	if len(b.archive.volumes) > 0 {
		volumes = b.archive.holding(key)
	}
	b.mu.Unlock()
	for _, v := range volumes {
		if err := b.rebind(ctx, v.key, nil, func(q bound) (bound, bool) { return q, q.key != key || q.revision >= before }); err != nil {
			return err
		}
	}
	return nil
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
	for key, m := range b.markers {
		if !strings.HasPrefix(key, listings) {
			before = min(before, m.revision)
		}
	}
	for _, revision := range b.sealed {
		before = min(before, revision)
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
