package hub

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

const (
	// maxOpen and maxBytes bound what a device may have open: all of it is in the
	// memory of each hub, and in front of the people who answer.
	maxOpen  = 5000
	maxBytes = 64 << 20
	// maxAskers is how many processes that asked a question are known, and maxAlso
	// how many of its other ids: they are told to all hubs, and go into its record.
	maxAskers = 16
	maxAlso   = 16
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

// load is what a device has open.
type load struct{ open, bytes int }

func (l load) add(r *Record, n int) load { return load{l.open + n, l.bytes + n*r.size} }

// bounded returns a [BoundError] if one more question is too much for its device.
func (b *Board) bounded(r *Record, size int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	has := b.loads[r.Device]
	switch {
	case has.open >= maxOpen:
		return &BoundError{"open questions", maxOpen}
	case has.bytes+size > maxBytes:
		return &BoundError{"bytes of open questions", maxBytes}
	}
	return nil
}

// last returns the list with one more, and without the first ones where it is too
// long.
func last(list []string, one string, most int) []string {
	list = append(list, one)
	return list[max(0, len(list)-most):]
}

// marker is what a removed value has left in the store.
type marker struct {
	revision uint64
	seen     time.Time
}

// marked notes what a change of the store leaves behind. mu is held.
func (b *Board) marked(e hubstore.Entry) {
	if delete(b.markers, e.Key); e.Value == nil && strings.Contains(e.Key, ".") { // a mark is no record
		b.markers[e.Key] = marker{e.Revision, time.Now()}
	}
}

// dropMarkers removes the markers that were seen before a time. By then all hubs
// know what they tell.
func (b *Board) dropMarkers(ctx context.Context, before time.Time) {
	b.mu.Lock()
	all := maps.Clone(b.markers)
	b.mu.Unlock()
	for key, m := range all {
		if m.seen.After(before) {
			continue
		}
		if err := b.store.Purge(ctx, key, m.revision+1); err != nil {
			b.log.Warn("the marker of an old question could not be removed", "err", err)
			return
		}
		b.mu.Lock()
		if b.markers[key] == m {
			delete(b.markers, key)
		}
		b.mu.Unlock()
	}
}
