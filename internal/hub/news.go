package hub

import (
	"cmp"
	"slices"
	"time"
)

// news are the last changes, in the order in which they were seen. Readers take
// them at their own pace: none holds up another, and a slow one costs nothing.
type news struct {
	list  []change
	first uint64 // number of list[0]
	// wakes are closed with the next change that they are for, and made when somebody
	// waits.
	wakes map[wake]chan struct{}
}

// change is a record as it is from then on.
type change struct {
	*Record
	at time.Time
}

// wake says for which changes a reader is woken.
type wake struct {
	group string
	all   bool // whatever the group is
	first bool // that somebody waits for: not how far an outcome has got
}

// keepNews is how many changes are kept. Whoever is further behind gets the
// records as they are now.
const keepNews = 4096

func (n *news) add(r *Record) {
	if len(n.list) == 2*keepNews {
		n.list = append([]change(nil), n.list[keepNews:]...)
		n.first += keepNews
	}
	n.list = append(n.list, change{r, time.Now()})
	for _, all := range []bool{false, true} {
		w := wake{group: r.Group, all: all}
		if all {
			w.group = ""
		}
		n.ring(w)
		if w.first = r.awaited(); w.first {
			n.ring(w)
		}
	}
}

func (n *news) ring(w wake) {
	if c := n.wakes[w]; c != nil {
		delete(n.wakes, w)
		close(c)
	}
}

// waits returns what is closed with the next change.
func (n *news) waits(w wake) <-chan struct{} {
	c := n.wakes[w]
	if c == nil {
		c = make(chan struct{})
		n.wakes[w] = c
	}
	return c
}

// awaited reports whether somebody waits to know this: that a question is open, or that
// it was settled. How far the outcome has got may be told a moment later.
func (r *Record) awaited() bool { return r.Open() || r.End.Receipt() == "accepted" }

// Reader reads the changes of a board. It is used by one goroutine.
type Reader struct {
	board    *Board
	wake     wake
	next     uint64 // number of the change to read
	revision uint64
	begun    bool
	first    <-chan struct{}
	late     time.Duration
}

// Name tells the store of this board from all others: a revision means something
// there alone.
func (b *Board) Name() string { return b.store.Name() }

// Read returns a reader that begins with what is open, or, if after is a
// revision of this store, with what has changed since.
func (b *Board) Read(after uint64) *Reader {
	return &Reader{board: b, revision: after, wake: wake{all: true}}
}

// In makes the reader one of a single group: others do not wake it.
func (r *Reader) In(group string) *Reader {
	r.wake = wake{group: group}
	return r
}

// First is closed when there is a change that somebody waits for: a question is open, or
// was settled.
func (r *Reader) First() <-chan struct{} { return r.first }

// Late is how long the first of those changes that Next returned had been there.
func (r *Reader) Late() time.Duration { return r.late }

// Revision is that of the last change that this board has seen.
func (b *Board) Revision() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last
}

// Next returns the changes that were not read yet, in order, and what is closed
// when there are more.
func (r *Reader) Next() (changes []*Record, more <-chan struct{}) {
	changes, over, more := r.read()
	for _, p := range over {
		changes = append(changes, p.whole())
	}
	if len(over) > 0 {
		slices.SortFunc(changes, byRevision)
	}
	return changes, more
}

// read is Next, with what is past apart.
func (r *Reader) read() (changes []*Record, over []*past, more <-chan struct{}) {
	b := r.board
	b.mu.Lock()
	defer b.mu.Unlock()
	end := b.news.first + uint64(len(b.news.list))
	r.late = 0
	switch {
	case !r.begun:
		r.begun = true
		if r.revision == 0 || r.revision > b.last {
			for _, o := range b.open {
				if r.of(o.Group) {
					changes = append(changes, o)
				}
			}
		} else {
			changes, over = r.since(r.revision)
		}
		slices.SortFunc(changes, byRevision)
	case r.next < b.news.first:
		changes, over = r.since(r.revision)
		slices.SortFunc(changes, byRevision)
	default:
		for _, c := range b.news.list[r.next-b.news.first:] {
			if !r.of(c.Group) {
				continue
			}
			if r.late == 0 && c.awaited() {
				r.late = time.Since(c.at)
			}
			changes = append(changes, c.Record)
		}
	}
	r.next, r.revision = end, b.last
	w := r.wake
	more = b.news.waits(w)
	w.first = true
	r.first = b.news.waits(w)
	return changes, over, more
}

func (r *Reader) of(group string) bool { return r.wake.all || r.wake.group == group }

func (r *Reader) since(revision uint64) (list []*Record, over []*past) {
	for _, o := range r.board.records {
		if o.Revision > revision && r.of(o.Group) {
			list = append(list, o)
		}
	}
	for _, p := range r.board.past {
		if p.revision > revision && r.of(p.of.talk.group) {
			over = append(over, p)
		}
	}
	return list, over
}

func byRevision(a, b *Record) int { return cmp.Compare(a.Revision, b.Revision) }
