package hub

import (
	"context"
	"time"
)

// Tidy drops what is old at some time.
func (b *Board) Tidy(now time.Time) { b.forget(context.Background(), now) }

// Listening counts the requests that wait for a record.
func (b *Board) Listening(r *Record) int {
	return peek(b, func(s *state) int {
		if l := s.leases[r.key]; l != nil {
			return l.listening
		}
		return 0
	})
}

// Expire has all askers gone that are gone at some time.
func (b *Board) Expire(now time.Time) {
	b.expire(now) // they are told to be gone, and then nothing is known of them any more
	b.expire(now)
}

// Attend has the board look at some time who is gone.
func (b *Board) Attend(now time.Time) { b.attend(now, now) }

// EndGone ends what those held that are gone.
func (b *Board) EndGone() { b.endGone() }

// DeliverAfter has the board wait so long for what an asker makes of an outcome.
func (b *Board) DeliverAfter(d time.Duration) { b.soon = d }

// UsedWithin has the board wait so long until an asker has used an outcome.
func (b *Board) UsedWithin(d time.Duration) { b.using = d }

// Deaf has the board hear of no askers at other hubs: what is told may get lost.
func (b *Board) Deaf() { b.unhear() }

// Encode is a record as it is kept.
func (r *Record) Encode() string { return string(r.encode()) }

// InMemory counts the records.
func (b *Board) InMemory() int { return peek(b, func(s *state) int { return len(s.records) }) }
