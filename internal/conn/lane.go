package conn

import "sync"

// Lane lets one goroutine at a time do something that may take long, in the order in
// which they came. What only that one touches needs no lock of its own. The lane's own
// lock is free meanwhile, so that nobody else waits for a peer that does not read.
//
// Whatever waits for a peer to read goes through one: the updates of a session, the
// lines to an editor or an agent, the messages of a CLI.
type Lane[T any] struct {
	run func([]T)

	mu     sync.Mutex
	left   sync.Cond
	taken  bool
	posted []T // for whoever has the lane, or takes it next
	spare  []T // an empty one
}

// NewLane is a lane that nobody has. What is posted is given to run, all that there is
// at a time, by whoever has the lane; run must not keep the slice. It may be nil if
// nothing is posted.
func NewLane[T any](run func([]T)) *Lane[T] {
	l := &Lane[T]{run: run}
	l.left.L = &l.mu
	return l
}

// FuncLane is a lane on which functions run.
func FuncLane() *Lane[func()] {
	return NewLane(func(list []func()) {
		for _, f := range list {
			f()
		}
	})
}

// Enter waits for the lane, and runs what was posted before.
func (l *Lane[T]) Enter() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.taken {
		l.left.Wait()
	}
	l.taken = true
	l.drain()
}

// Leave gives the lane back, behind what was posted meanwhile.
func (l *Lane[T]) Leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drain()
	l.taken = false
	l.left.Signal()
}

// Post has something run on the lane. It does not wait, neither for the lane nor
// for run.
func (l *Lane[T]) Post(more ...T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.posted = append(l.posted, more...)
	if !l.taken {
		l.taken = true
		go l.Leave()
	}
}

// maxSpare is how many elements an empty slice has room for that is kept.
const maxSpare = 4096

// drain runs what is posted, with mu released.
func (l *Lane[T]) drain() {
	for len(l.posted) > 0 {
		list := l.posted
		l.posted, l.spare = l.spare, nil
		l.unlocked(list)
		if clear(list); cap(list) <= maxSpare {
			l.spare = list[:0]
		}
	}
}

func (l *Lane[T]) unlocked(list []T) {
	l.mu.Unlock()
	defer l.mu.Lock() // also after a panic
	l.run(list)
}
