package adapter

import (
	"context"
	"slices"
	"sync"
)

// session is what the adapter remembers of one session.
type session struct {
	id    string
	users int // guarded by Adapter.mu
	turn  turn

	mu sync.Mutex
	// broken are rungs on which this session's client gave no valid reply.
	broken map[Rung]bool
}

// session returns the session's state, which stays while it is in use or has
// something to remember.
func (a *Adapter) session(id string) *session {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.sessions[id]
	if s == nil {
		s = &session{id: id}
		a.sessions[id] = s
	}
	s.users++
	return s
}

func (a *Adapter) forget(s *session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s.users--
	if s.users == 0 && !s.remembers() {
		delete(a.sessions, s.id)
	}
}

// EndSession drops what is remembered of a session. Its open questions are not
// touched: end the context they were asked with.
func (a *Adapter) EndSession(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.sessions[id]; s != nil && s.users == 0 {
		delete(a.sessions, id)
	}
}

func (s *session) remembers() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.broken) > 0
}

func (s *session) breaks(r Rung) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == nil {
		s.broken = map[Rung]bool{}
	}
	s.broken[r] = true
}

func (s *session) isBroken(r Rung) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken[r]
}

// turn lets one request of a session through at a time, in order of arrival.
type turn struct {
	mu      sync.Mutex
	taken   bool
	waiting []chan struct{}
}

// wait blocks until it is the caller's turn, or ctx ends.
func (t *turn) wait(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.mu.Lock()
	if !t.taken {
		t.taken = true
		t.mu.Unlock()
		return nil
	}
	ready := make(chan struct{})
	t.waiting = append(t.waiting, ready)
	t.mu.Unlock()

	select {
	case <-ready:
		if ctx.Err() != nil {
			t.done()
		}
	case <-ctx.Done():
		t.leave(ready)
	}
	return ctx.Err()
}

// leave gives up a place in the queue.
func (t *turn) leave(ready chan struct{}) {
	t.mu.Lock()
	i := slices.Index(t.waiting, ready)
	if i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
	}
	t.mu.Unlock()
	if i < 0 { // the turn came at the same moment: pass it on
		t.done()
	}
}

// done ends the caller's turn.
func (t *turn) done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		t.taken = false
		return
	}
	close(t.waiting[0])
	t.waiting = slices.Delete(t.waiting, 0, 1)
}
