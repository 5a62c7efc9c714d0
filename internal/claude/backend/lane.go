package backend

import "sync"

// lane is who has the painter: what runs on it runs one at a time, in the order in
// which it came. Its lock is held by nobody who runs, so that only those wait for a
// painter that waits for the editor who may.
type lane struct {
	mu     sync.Mutex
	left   sync.Cond
	taken  bool
	posted []func() // for whoever has the lane, or takes it next
}

func newLane() *lane {
	l := &lane{}
	l.left.L = &l.mu
	return l
}

// enter waits for the lane, and runs what was posted before. It is for the reader
// of the CLI, and for what comes behind the reader's end: that the CLI is not read
// on meanwhile is how a slow editor slows it down.
func (l *lane) enter() {
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

// leave gives the lane back, behind what was posted meanwhile.
func (l *lane) leave() { l.run(true) }

// post has f run on the lane. It does not wait, neither for the lane nor for f.
func (l *lane) post(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.posted = append(l.posted, f)
	if !l.taken {
		l.taken = true
		go l.leave()
	}
}

// run runs what is posted, for whoever has the lane.
func (l *lane) run(leave bool) {
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
