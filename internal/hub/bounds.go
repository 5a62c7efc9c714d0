package hub

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

const (
	// maxOpen and maxBytes bound what a device may have open: all of it is in the
	// memory of each hub, and in front of the people who answer.
	maxOpen  = 5000
	maxBytes = 64 << 20
	// maxSettled and maxSettledBytes bound what is kept of a device's questions that
	// are over. The oldest of them make room.
	maxSettled      = 20_000
	maxSettledBytes = 64 << 20
)

// BoundError says that a device has as much open as it may.
type BoundError struct {
	What  string // "open questions" or "bytes of open questions"
	Limit int
}

// Error says what the bound is.
func (e *BoundError) Error() string {
	return fmt.Sprintf("this device has too much open: expected at most %d %s", e.Limit, e.What)
}

// load is what is kept of a device's questions: those that are open, and the others.
type load struct{ open, bytes, settled, settledBytes int }

func (l load) add(r *Record, n int) load {
	if r.Open() {
		l.open, l.bytes = l.open+n, l.bytes+n*r.size
	} else {
		l.settled, l.settledBytes = l.settled+n, l.settledBytes+n*r.size
	}
	return l
}

// full reports whether a device has more settled questions than a part of what is kept.
func (l load) full(part, of int) bool {
	return l.settled > maxSettled*part/of || l.settledBytes > maxSettledBytes*part/of
}

// makeRoom removes the oldest questions of a device that are over, if it has more of
// them than are kept.
func (b *Board) makeRoom(ctx context.Context, device string) error {
	old := peek(b, func(s *state) []*Record { return s.tooMany(device) })
	for _, r := range old {
		if err := b.store.Delete(ctx, r.key, r.Revision); err != nil && !errors.Is(err, hubstore.ErrConflict) {
			return err
		}
	}
	if len(old) > 0 {
		b.log.Warn("a device has more settled questions than are kept: the oldest were removed", "device", device, "removed", len(old))
	}
	return nil
}

// tooMany are the oldest questions of a device that are over and have to make room.
func (s *state) tooMany(device string) (old []*Record) {
	left := s.loads[device]
	if !left.full(1, 1) {
		return nil
	}
	for _, r := range s.records {
		if r.Device == device && r.makesRoom() {
			old = append(old, r)
		}
	}
	slices.SortFunc(old, func(x, y *Record) int { return y.Place().behind(x.Place()) })
	n := 0
	for ; n < len(old) && left.full(7, 8); n++ { // or every question would be looked at each time
		left = left.add(old[n], -1)
	}
	return old[:n]
}

// bounded returns a [BoundError] if one more question is too much for its device.
func (b *Board) bounded(r *Record, size int) error {
	return peek(b, func(s *state) error {
		has := s.loads[r.Device]
		switch {
		case has.open >= maxOpen:
			return &BoundError{"open questions", maxOpen}
		case has.bytes+size > maxBytes:
			return &BoundError{"bytes of open questions", maxBytes}
		}
		return nil
	})
}

// marker is what a removed value has left in the store.
type marker struct {
	revision uint64
	seen     time.Time
}

// dropMarkers removes the markers that were seen before a time. By then all hubs
// know what they tell.
func (b *Board) dropMarkers(ctx context.Context, before time.Time) {
	for key, m := range peek(b, func(s *state) map[string]marker { return maps.Clone(s.markers) }) {
		if m.seen.After(before) {
			continue
		}
		if err := b.store.Purge(ctx, key, m.revision+1); err != nil {
			b.log.Warn("the marker of an old question could not be removed", "err", err)
			return
		}
		b.step(func(s *state) {
			if s.markers[key] == m {
				delete(s.markers, key)
			}
		})
	}
}
