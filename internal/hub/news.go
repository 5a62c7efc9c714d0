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
	// wakes are closed with the next change that they are for, and made when somebody
	// waits.
	wakes map[wake]chan struct{}
}

// wake says for which changes a reader is woken.
type wake struct {
	group string
	all   bool // whatever the group is
	asked bool // questions that are open, and no other changes
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
	n.ring(wake{group: r.Group})
	n.ring(wake{all: true})
	if r.Open() {
		n.ring(wake{group: r.Group, asked: true})
		n.ring(wake{all: true, asked: true})
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

// Reader reads the changes of a board. It is used by one goroutine.
type Reader struct {
	// AndOpen makes it begin with what is open, too: its revision may be one that was
	// given again.
	AndOpen  bool
	board    *Board
	wake     wake
	next     uint64 // number of the change to read
	revision uint64
	begun    bool
	asked    <-chan struct{}
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

// Asked is closed when there is a question that is open behind what [Reader.Next] has
// returned.
func (r *Reader) Asked() <-chan struct{} { return r.asked }

// Revision is that of the last change that this board has seen.
func (b *Board) Revision() uint64 {
	return peek(b, func(s *state) uint64 { return s.last })
}

// Next returns the changes that were not read yet, in order, and what is closed
// when there are more.
func (r *Reader) Next() (changes []*Record, more <-chan struct{}) {
	r.board.step(func(s *state) {
		end := s.news.first + uint64(len(s.news.list))
		if r.begun && r.next >= s.news.first {
			for _, o := range s.news.list[r.next-s.news.first:] {
				if r.of(o.Group) {
					changes = append(changes, o)
				}
			}
		} else {
			changes = r.since(s)
		}
		r.next, r.revision, r.begun, r.AndOpen = end, s.last, true, false
		asked := r.wake
		asked.asked = true
		r.asked = s.news.waits(asked)
		more = s.news.waits(r.wake)
	})
	return changes, more
}

func (r *Reader) of(group string) bool { return r.wake.all || r.wake.group == group }

func (r *Reader) since(s *state) (list []*Record) {
	from, records := r.revision, s.records
	if !r.begun && (from == 0 || from > s.last) {
		from, records = 0, s.open
	}
	for _, o := range records {
		if (o.Revision > from || r.AndOpen && o.Open()) && r.of(o.Group) {
			list = append(list, o)
		}
	}
	slices.SortFunc(list, func(a, b *Record) int { return cmp.Compare(a.Revision, b.Revision) })
	return list
}
