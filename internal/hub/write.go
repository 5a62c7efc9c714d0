package hub

import (
	"context"
	"errors"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
)

// writeTime bounds a write: an embedded store needs less than a millisecond, a
// cluster that elects a leader some seconds.
const writeTime = 20 * time.Second

// writing is a value on its way to the store. When the store tells of it, it need
// not be read again.
type writing struct {
	record *Record
	value  []byte
	size   int // before it was packed
	since  time.Time
}

func writingOf(r *Record) *writing {
	plain := r.encode()
	return &writing{record: r, value: pack(plain), size: len(plain)}
}

// write replaces old, or creates the record if old is nil, and waits until the
// board has seen it. A caller that hangs up does not leave it half done.
func (b *Board) write(ctx context.Context, r, old *Record, may func(context.Context) error) (*Record, error) {
	return b.writeAs(ctx, writingOf(r), old, may)
}

// writeAs is write for a record whose value is made.
func (b *Board) writeAs(ctx context.Context, w *writing, old *Record, may func(context.Context) error) (*Record, error) {
	r := w.record
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer cancel()
	if err := b.fits(r, old, len(w.value)); err != nil {
		return nil, err
	}
	b.writes(r.key, w, true)
	defer b.writes(r.key, w, false)
	var revision uint64
	var err error
	switch {
	case old == nil:
		revision, err = b.store.CreateIf(ctx, r.key, w.value, may)
	case old.Open() && !r.Open() && !r.End.Elsewhere: // a person's answer
		revision, err = b.store.UpdateWhile(ctx, r.key, w.value, old.Revision, may)
	default:
		revision, err = b.store.UpdateIf(ctx, r.key, w.value, old.Revision, may)
	}
	switch {
	case errors.Is(err, hubstore.ErrConflict): // who was first is about to be seen
		first := func(now *Record) bool {
			return now == nil && old != nil || now != nil && (old == nil || now.Revision > old.Revision)
		}
		if _, waited := b.until(ctx, r.key, first); waited != nil {
			return nil, waited
		}
		return nil, err
	case errors.Is(err, ErrRight):
		return nil, err
	case err != nil:
		b.count.Step(func(s *Stats) { s.Failed++ })
		b.refused(errors.Is(err, hubstore.ErrTooLarge))
		return nil, err
	}
	b.taken()
	return b.written(ctx, r, revision)
}

// Fence returns when no answer is written any more that [Ref.May] has allowed before
// it was called, here or at another hub of the store.
func (b *Board) Fence(ctx context.Context) error { return b.store.Fence(ctx) }

const (
	// answerRoom is what a question leaves for its answer: one that nobody could
	// answer is not taken.
	answerRoom = 128 << 10
	// receiptRoom is what an answer leaves for its receipts.
	receiptRoom = 32 << 10
)

// fits returns a [SizeError] for a question or an answer that the store cannot
// take, with what comes later.
func (b *Board) fits(r, old *Record, size int) error {
	limit := b.store.Limit()
	var what string
	switch {
	case r.Open():
		what, limit = "question", limit-min(answerRoom, limit/4)
	case old.Open():
		what, limit = "answer", limit-min(receiptRoom, limit/8)
	}
	if what == "" || size <= limit {
		return nil
	}
	return &SizeError{What: what, Limit: limit, Got: size}
}

// written returns a record as it was written, once the board has seen it. What
// others have made of it by then is not what the writer did.
func (b *Board) written(ctx context.Context, r *Record, revision uint64) (*Record, error) {
	seen, err := b.await(ctx, r.key, revision)
	if err != nil || seen.Revision == revision {
		return seen, err
	}
	own := *r
	own.Revision = revision
	return &own, nil
}

// writes notes that a value is on its way, or no longer. Of two for one key, the
// store takes one, and the other is read when it comes.
func (b *Board) writes(key string, w *writing, begins bool) {
	b.step(func(s *state) {
		if begins {
			w.since = time.Now()
			s.writing[key] = w
		} else if s.writing[key] == w {
			delete(s.writing, key)
		}
	})
}

// await waits until the board has seen a write of a record.
func (b *Board) await(ctx context.Context, key string, revision uint64) (*Record, error) {
	return b.until(ctx, key, func(r *Record) bool { return r != nil && r.Revision >= revision })
}

// until waits until a record, which may be nil, is as it should be.
func (b *Board) until(ctx context.Context, key string, is func(*Record) bool) (r *Record, err error) {
	for {
		var sealed bool
		var changed <-chan struct{}
		b.step(func(s *state) { r, sealed, changed = s.records[key], s.sealed[key] != 0, s.changed(key) })
		switch {
		case is(r):
			return r, nil
		case sealed:
			return nil, errSealed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-b.ended:
			return nil, errClosing
		}
	}
}

// errSealed means that another hub may do what this one cannot.
var errSealed = errors.New("the question is kept in a way that this hub cannot read")

// changed is closed with the next change of a record.
func (s *state) changed(key string) <-chan struct{} {
	c := s.waiters[key]
	if c == nil {
		c = make(chan struct{})
		s.waiters[key] = c
	}
	return c
}
