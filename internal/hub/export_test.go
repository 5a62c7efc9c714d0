package hub

import (
	"context"
	"time"
)

// Tidy drops what is old at some time.
func (b *Board) Tidy(now time.Time) { b.forget(context.Background(), now) }

// Listening counts the requests that wait for a record.
func (b *Board) Listening(r *Record) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l := b.leases[r.key]; l != nil {
		return l.listening
	}
	return 0
}
