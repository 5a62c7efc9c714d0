package hub

import (
	"cmp"
	"maps"
	"slices"
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
	entries entries
	talks   map[uint64]lastAsked // by the hashes of their keys
	gone    int                  // entries whose volume is gone
	changes uint64
	listed  []listed // of the listing that was read last: its memory is for the next
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

// entries are in parts, so that none moves when there are more.
type entries [][]entry

const entriesInPart = 1 << 10

func (l entries) len() int {
	if len(l) == 0 {
		return 0
	}
	return (len(l)-1)*entriesInPart + len(l[len(l)-1])
}

// at is an entry, counted from 1.
func (l entries) at(n int32) entry { return l[(n-1)/entriesInPart][(n-1)%entriesInPart] }

func (l *entries) add(e entry) {
	if l.len()%entriesInPart == 0 {
		*l = append(*l, make([]entry, 0, entriesInPart))
	}
	last := &(*l)[len(*l)-1]
	*last = append(*last, e)
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
	a.entries.add(e)
	a.talks[talk] = lastAsked{int32(a.entries.len()), max(in.asked, e.asked)}
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
	if a.changes++; a.gone > a.entries.len()/2 {
		a.rebuild()
	}
}

// rebuild leaves out the entries whose volume is gone.
func (a *archive) rebuild() {
	old := archive{entries: a.entries, talks: a.talks, slots: a.slots}
	talks := make([]uint64, old.entries.len()) // by entry
	for talk, last := range old.talks {
		for n := last.entry; n > 0; n = old.entries.at(n).before {
			talks[n-1] = talk
		}
	}
	a.slots = slices.DeleteFunc(slices.Clone(old.slots), func(v *volume) bool { return v == nil })
	slots := make([]uint32, len(old.slots)) // by what they were
	for i, v := range a.slots {
		slots[v.slot], v.slot = uint32(i), uint32(i)
	}
	a.entries, a.talks, a.gone = nil, map[uint64]lastAsked{}, 0
	for i, talk := range talks {
		if e := old.entries.at(int32(i + 1)); old.slots[e.slot] != nil {
			e.slot = slots[e.slot]
			a.link(talk, e)
		}
	}
}

// in calls f with each entry of a conversation, the last first.
func (a *archive) in(talk uint64, f func(entry, *volume)) {
	for n := a.talks[talk].entry; n > 0; n = a.entries.at(n).before {
		if e := a.entries.at(n); a.slots[e.slot] != nil {
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
	a.in(t.hash(), func(entry, *volume) { found = true })
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
	name := hashed(short(id))
	return a.having(t.hash(), func(e entry) bool { return e.name == name })
}

// since are the volumes that have questions of a conversation which were asked at a time
// or later, or all if that is zero.
func (a *archive) since(t talk, at time.Time) []*volume {
	return a.having(t.hash(), func(e entry) bool { return at.IsZero() || e.asked >= at.UnixNano() })
}
