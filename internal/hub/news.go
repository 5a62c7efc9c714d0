package hub

import (
	"cmp"
	"slices"
)

// news are the last changes, in the order in which they were seen. Readers take
// them at their own pace: none holds up another, and a slow one costs nothing.
type news struct {
	list  []*Record
	first uint64 // number of list[0]
	wake  chan struct{}
}

// keepNews is how many changes are kept. Whoever is further behind gets the
// records as they are now.
const keepNews = 4096

func (n *news) add(r *Record) {
	if len(n.list) == 2*keepNews {
		n.list = append([]*Record(nil), n.list[keepNews:]...)
		n.first += keepNews
	}
	n.list = append(n.list, r)
	close(n.wake)
	n.wake = make(chan struct{})
}

// Reader reads the changes of a board. It is used by one goroutine.
type Reader struct {
	board    *Board
	next     uint64 // number of the change to read
	revision uint64
	begun    bool
}

// Name tells the store of this board from all others: a revision means something
// there alone.
func (b *Board) Name() string { return b.store.Name() }

// Read returns a reader that begins with what is open, or, if after is a
// revision of this store, with what has changed since.
func (b *Board) Read(after uint64) *Reader {
	return &Reader{board: b, revision: after}
}

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
	switch {
	case !r.begun:
		r.begun = true
		if r.revision == 0 || r.revision > b.last {
			for _, o := range b.open {
				changes = append(changes, o)
			}
		} else {
			changes, over = b.since(r.revision)
		}
		slices.SortFunc(changes, byRevision)
	case r.next < b.news.first:
		changes, over = b.since(r.revision)
		slices.SortFunc(changes, byRevision)
	default:
		changes = slices.Clone(b.news.list[r.next-b.news.first:])
	}
	r.next = end
	r.revision = b.last
	return changes, over, b.news.wake
}

func (b *Board) since(revision uint64) (list []*Record, over []*past) {
	for _, r := range b.records {
		if r.Revision > revision {
			list = append(list, r)
		}
	}
	for _, p := range b.past {
		if p.revision > revision {
			over = append(over, p)
		}
	}
	return list, over
}

func byRevision(a, b *Record) int { return cmp.Compare(a.Revision, b.Revision) }
