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
	// probeTime bounds a probe.
	probeTime = 5 * time.Second
	// mostProbes is how many fail before the board gives up.
	mostProbes = 3
)

// refused notes that the store did not take something, unless the fault was its.
func (b *Board) refused(own bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !own && !b.store.Shared() && b.refusal.since.IsZero() {
		b.refusal.since = time.Now()
		b.log.Error(errStore.Error())
	}
}

// taken notes that the store takes what is written.
func (b *Board) taken() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.takes()
}

// takes is taken, and mu is held.
func (b *Board) takes() {
	if !b.refusal.since.IsZero() {
		b.log.Warn("the store takes what is written again")
	}
	b.refusal = refusal{}
}

func (b *Board) refuses() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.refusal.since.IsZero()
}

// probe tries a store that has refused something. If that fails again and again, the
// board ends, and whoever watches over the process starts it anew.
func (b *Board) probe(ctx context.Context) {
	b.mu.Lock()
	since, mark := b.refusal.since, b.mark
	b.mu.Unlock()
	if since.IsZero() {
		return
	}
	one, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	_, err := mark(one)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refusal.since != since { // it has refused something else since
		return
	}
	if err == nil {
		b.takes()
		return
	}
	if b.refusal.probes++; b.refusal.probes == mostProbes && b.own.Err() == nil {
		b.log.Error("the hub ends: its store takes nothing any more; what it had taken is kept")
		b.stop()
	}
}
