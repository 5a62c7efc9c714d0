package hubstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go/jetstream"
)

// fence is what [Store.Fence] puts up. Where servers are elsewhere, it is a key, and a
// write says behind which revision of it it was allowed: the server decides, and so
// it holds for what comes out of a network that stood still.
type fence struct {
	known  atomic.Bool // whether behind is
	behind atomic.Uint64
	turn   chan struct{} // has a place for the one that writes by itself
	inside sync.RWMutex  // of who is between check and write, where the server is in this process
}

// fenceKey is the key of the fence. It has no value.
const fenceKey = "fence"

// Fence returns when nothing is written any more by [Store.UpdateWhile] that was
// allowed before: whoever takes a right away does so first, and then puts up the
// fence. That of a bucket that was opened [Store.Beside] another is the other's.
func (s *Store) Fence(ctx context.Context) error {
	if s.main != nil {
		return s.main.Fence(ctx)
	}
	if !s.shared {
		s.fence.inside.Lock()
		defer s.fence.inside.Unlock()
		return nil
	}
	if _, err := s.note(ctx, fenceKey); err != nil {
		return fmt.Errorf("put up a fence: %w", err)
	}
	return nil
}

// errFenced means that a fence was put up meanwhile, or that the server could not tell:
// the write was not made, and needs another check.
var errFenced = errors.New("who may write has changed meanwhile")

// enter notes behind which fence a write is allowed. It is called before that is
// checked, and done after the write.
func (s *Store) enter(ctx context.Context, w *write) (done func(), err error) {
	if !s.shared {
		s.fence.inside.RLock()
		return s.fence.inside.RUnlock, nil
	}
	if !s.fence.known.Load() {
		last, err := s.Last(ctx, fenceKey)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
		s.fence.behind.Store(last.Revision)
		s.fence.known.Store(true)
	}
	w.behind = s.fence.behind.Load()
	return func() {}, nil
}

// writeFenced makes a fenced write by itself: a batch of two, of which the second one
// writes nothing and needs the fence to be as it was. A bucket of an operator may
// take no batches; then the check before has to do.
func (s *Store) writeFenced(ctx context.Context, w write, alone func(context.Context) (uint64, error)) (uint64, error) {
	if !s.shared || !s.batches.Load() {
		return alone(ctx)
	}
	select { // those of a cluster get in each other's way
	case s.fence.turn <- struct{}{}:
		defer func() { <-s.fence.turn }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	revision, err := s.publish([]*joined{{write: w}})
	var why *jetstream.APIError
	switch {
	case !errors.As(err, &why):
		return revision, err
	case !isWrongLast(why):
		return 0, why
	}
	s.fence.known.Store(false)
	if last, known := s.lastOf(ctx, w.key); known && last.Revision != w.old {
		return 0, ErrConflict
	}
	return 0, errFenced
}

// wrongLast is the server's code for a subject that has another revision, and
// wrongLastUnknown for one that is being written.
const wrongLast, wrongLastUnknown = jetstream.JSErrCodeStreamWrongLastSequence, 10164

func isWrongLast(err error) bool {
	var why *jetstream.APIError
	return errors.As(err, &why) && (why.ErrorCode == wrongLast || why.ErrorCode == wrongLastUnknown)
}
