// Package lane lets one at a time do something that may take long, in the order in
// which they came, with no lock held meanwhile.
package lane

import "sync"

// Lane is had by one goroutine at a time. What only that one touches needs no lock
// of its own. Its lock is held by nobody who runs, so that only those wait for a
// peer that does not read who may.
type Lane struct {
	mu     sync.Mutex
	left   sync.Cond
	taken  bool
	posted []func() // for whoever has the lane, or takes it next
}

// New is a lane that nobody has.
func New() *Lane {
	l := &Lane{}
	l.left.L = &l.mu
	return l
}

// Enter waits for the lane, and runs what was posted before.
func (l *Lane) Enter() {
	l.mu.Lock()
	for l.taken {
		l.left.Wait()
	}
	l.taken = true
	waiting := len(l.posted) > 0
	l.mu.Unlock()
	if waiting {
		l.run(false)
	}
}

// Leave gives the lane back, behind what was posted meanwhile.
func (l *Lane) Leave() { l.run(true) }

// Post has f run on the lane. It does not wait, neither for the lane nor for f.
func (l *Lane) Post(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.posted = append(l.posted, f)
	if !l.taken {
		l.taken = true
		go l.Leave()
	}
}

// run runs what is posted, for whoever has the lane.
func (l *Lane) run(leave bool) {
	for {
		l.mu.Lock()
		list := l.posted
		l.posted = nil
		if len(list) == 0 {
			if leave {
				l.taken = false
				l.left.Signal()
			}
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		for _, f := range list {
			f()
		}
	}
}
