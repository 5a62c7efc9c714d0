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

// Expire has all askers gone that are gone at some time.
func (b *Board) Expire(now time.Time) {
	b.expire(now) // they are told to be gone, and then nothing is known of them any more
	b.expire(now)
}

// SettleDown makes past what is over for long enough at some time, and returns how many
// are past.
func (b *Board) SettleDown(now time.Time) int {
	b.settleDown(now)
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.past)
}

// DeliverAfter has the board wait so long for what an asker makes of an outcome.
func (b *Board) DeliverAfter(d time.Duration) { b.soon = d }

// UsedWithin has the board wait so long until an asker has used an outcome.
func (b *Board) UsedWithin(d time.Duration) { b.using = d }

// Deaf has the board hear of no askers at other hubs: what is told may get lost.
func (b *Board) Deaf() { b.unhear() }

// Encode is a record as it is kept.
func (r *Record) Encode() string { return string(r.encode()) }
