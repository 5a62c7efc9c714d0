package hub

import (
	"context"
	"errors"
	"time"
)

// refusal is what is known of a store that does not take what is written: its disk
// is full or broken. An embedded server does not come back from that by itself, also
// when there is room again; it does when it is started anew, and has lost nothing.
type refusal struct {
	since  time.Time // zero if it takes everything
	probes int       // that failed since
}

var errStore = errors.New("the store does not take what is written: is the disk full?")

const (
	// slowTime is how long a write may take of a hub that is ready.
	slowTime = 2 * time.Second
	// mostProbes is how many fail before the board gives up.
	mostProbes = 3
)

// refused notes that the store did not take something, unless the fault was its.
func (b *Board) refused(own bool) {
	b.step(func(s *state) {
		if !own && !s.store.Shared() && s.refusal.since.IsZero() {
			s.refusal.since = time.Now()
			s.log.Error(errStore.Error())
		}
	})
}

// taken notes that the store takes what is written.
func (b *Board) taken() { b.step((*state).takes) }

func (s *state) takes() {
	if !s.refusal.since.IsZero() {
		s.log.Warn("the store takes what is written again")
	}
	s.refusal = refusal{}
}

// refuses reports whether the store has refused something, or has had a write for longer
// than a disk with room needs: what is on a full one gets no reply.
func (b *Board) refuses() bool {
	return peek(b, func(s *state) bool {
		waits := false
		for _, w := range s.writing {
			waits = waits || !s.store.Shared() && time.Since(w.since) > slowTime
		}
		return waits || !s.refusal.since.IsZero()
	})
}

// probe tries a store that has refused something. If that fails again and again, the
// board ends, and whoever watches over the process starts it anew.
func (b *Board) probe(ctx context.Context) {
	var since time.Time
	var mark func(context.Context) (uint64, error)
	b.step(func(s *state) { since, mark = s.refusal.since, s.mark })
	if since.IsZero() {
		return
	}
	one, cancel := context.WithTimeout(ctx, writeTime) // a busy machine may be slow, and has room
	defer cancel()
	_, err := mark(one)
	b.step(func(s *state) {
		if s.refusal.since != since { // it has refused something else since
			return
		}
		if err == nil {
			s.takes()
			return
		}
		if s.refusal.probes++; s.refusal.probes == mostProbes && s.own.Err() == nil {
			s.log.Error("the hub ends: its store takes nothing any more; what it had taken is kept")
			b.stop()
		}
	})
}
