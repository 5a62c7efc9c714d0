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
}

func writingOf(r *Record) *writing {
	plain := r.encode()
	return &writing{r, pack(plain), len(plain)}
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
	if old != nil && old.archived != "" {
		return b.writeArchived(ctx, r, may)
	}
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
	case errors.Is(err, hubstore.ErrConflict):
		known := uint64(0)
		if old != nil {
			known = old.Revision
		}
		if waited := b.outdone(ctx, r.key, known); waited != nil { // who was first is about to be seen
			return nil, waited
		}
		return nil, err
	case errors.Is(err, ErrRight):
		return nil, err
	case err != nil:
		b.count.failed()
		b.refused(errors.Is(err, hubstore.ErrTooLarge))
		return nil, err
	}
	b.taken()
	written, err := b.written(ctx, r, revision)
	if err := b.unarchive(ctx, r.key, revision); err != nil { // it may have been archived meanwhile as it was
		b.log.Warn("a question is in the archive as it was", "err", err)
	}
	return written, err
}

// outdone waits until the board has seen who was faster with a record than somebody who
// knew a revision of it, or none: that may be an archive.
func (b *Board) outdone(ctx context.Context, key string, known uint64) error {
	for {
		b.mu.Lock()
		if r := b.records[key]; r == nil && (known > 0 || len(b.archive.holding(key)) > 0) || r != nil && r.Revision > known {
			b.mu.Unlock()
			return nil
		}
		if err := b.unlockUntilChanged(ctx, key); err != nil {
			return err
		}
	}
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
	b.mu.Lock()
	defer b.mu.Unlock()
	if begins {
		b.writing[key] = w
	} else if b.writing[key] == w {
		delete(b.writing, key)
	}
}

// await waits until the board has seen a write of a record.
func (b *Board) await(ctx context.Context, key string, revision uint64) (*Record, error) {
	for {
		r, err := b.lockRecord(key)
		if err != nil || r != nil && r.Revision >= revision {
			b.mu.Unlock()
			return r, err
		}
		if err := b.unlockUntilChanged(ctx, key); err != nil {
			return nil, err
		}
	}
}

// unlockUntilChanged waits for a change of a record. It is called with mu held.
func (b *Board) unlockUntilChanged(ctx context.Context, key string) error {
	sealed, changed := b.sealed[key] != 0, b.changed(key)
	b.mu.Unlock()
	if sealed {
		return errSealed
	}
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-b.ended:
		return errClosing
	}
}

// errSealed means that another hub may do what this one cannot.
var errSealed = errors.New("the question is kept in a way that this hub cannot read")

// changed is closed with the next change of a record. mu is held.
func (b *Board) changed(key string) <-chan struct{} {
	c := b.waiters[key]
	if c == nil {
		c = make(chan struct{})
		b.waiters[key] = c
	}
	return c
}
