package hub

import (
	"context"
	"errors"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
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

// SettleDown archives what is over for long enough at some time, also if it is little, and
// returns how many are archived.
func (b *Board) SettleDown(now time.Time) (n int) {
	b.mu.Lock()
	b.fewPast = 0
	b.mu.Unlock()
	b.settleDown(context.Background(), now)
	b.mu.Lock()
	all := b.archive.all()
	b.mu.Unlock()
	for _, v := range all {
		list, err := b.contents(context.Background(), v)
		if errors.Is(err, hubstore.ErrConflict) {
			return b.SettleDown(now) // another one was at it
		}
		if err != nil {
			panic(err)
		}
		n += len(list)
	}
	return n
}

// KeyOf is where the first record with an id is kept.
func KeyOf(conversation, id string) string { return keyOf(talk{"", conversation}, id, 0) }

// DeliverAfter has the board wait so long for what an asker makes of an outcome.
func (b *Board) DeliverAfter(d time.Duration) { b.soon = d }

// UsedWithin has the board wait so long until an asker has used an outcome.
func (b *Board) UsedWithin(d time.Duration) { b.using = d }

// Deaf has the board hear of no askers at other hubs: what is told may get lost.
func (b *Board) Deaf() { b.unhear() }

// Encode is a record as it is kept.
func (r *Record) Encode() string { return string(r.encode()) }

// ArchiveWithoutPurge is SettleDown of a hub that ends before it has removed anything.
func (b *Board) ArchiveWithoutPurge(now time.Time) {
	b.mu.Lock()
	var over []*Record
	for _, r := range b.records {
		if r.over() {
			over = append(over, r)
		}
	}
	b.mu.Unlock()
	if _, err := b.archiveSome(context.Background(), over); err != nil {
		panic(err)
	}
}

// LeaveAtMost has the board leave so many archived values in its bucket.
func (b *Board) LeaveAtMost(n int) { b.mostLeft = n }

// InMemory counts the records that are not archived.
func (b *Board) InMemory() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.records)
}

// Unpack is a value as it was before it was packed.
func Unpack(t interface{ Fatal(...any) }, value []byte) []byte {
	plain, err := unpack(value)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}
