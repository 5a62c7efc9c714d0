package hubstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// fence is what [Store.Fence] puts up. Where servers are elsewhere, it is a key, and a
// write says behind which revision of it it was allowed: the server decides, and so
// it holds for what comes out of a network that stood still.
type fence struct {
	known  atomic.Bool // whether behind is
	behind atomic.Uint64
	inside sync.RWMutex // of who is between check and write, where the server is in this process
	crossings
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

// crossings are the fenced writes of this process that are under way. Servers of a cluster
// refuse a write that names the fence while another one that does is under way: so there
// is one batch at a time, with all that came meanwhile, and what another hub's was in the
// way of is sent again at once. Whoever tried by themselves, each for a moment, would wait
// longer the more there are.
type crossings struct {
	proc.Shared
	flying map[string]*crossing // by key
	queue  []*crossing
	drains bool
	slow   bool // the last batch got no reply; known to the one that drains
}

// crossing is a fenced write. What became of it is known once landed is closed.
type crossing struct {
	joined
	landed   chan struct{}
	revision uint64 // that the key has now, or 0
	err      error
}

// inTheWay is how long a batch is sent again while others are in its way, and
// stepAside at most what is between two times. That is less than an attempt takes.
const inTheWay, stepAside = firstTime / 2, 4 * time.Millisecond

// writeFenced makes a fenced write: a batch of which the last message writes nothing and
// needs the fence to be as it was. Of two of the same key one comes too late.
func (s *Store) writeFenced(ctx context.Context, w write) (uint64, error) {
	for {
		c, mine := s.cross(w)
		select {
		case <-c.landed:
			switch {
			case mine && c.err != nil:
				return 0, c.err
			case mine:
				return c.revision, nil
			case c.revision > w.old:
				return 0, ErrConflict
			}
		case <-ctx.Done():
			if mine {
				s.fence.turnBack(c)
			}
			return 0, ctx.Err()
		}
	}
}

// cross puts a write into the queue, unless one of its key is under way: then it is that.
func (s *Store) cross(w write) (c *crossing, mine bool) {
	f := &s.fence.crossings
	f.Step(func() {
		if c = f.flying[w.key]; c != nil {
			return
		}
		c, mine = &crossing{joined: joined{write: w}, landed: make(chan struct{})}, true
		if f.flying == nil {
			f.flying = map[string]*crossing{}
		}
		f.flying[w.key] = c
		f.queue = append(f.queue, c)
		if !f.drains {
			f.drains = true
			go s.crossAll()
		}
	})
	return c, mine
}

// turnBack takes a write out of the queue, if it is still there.
func (f *crossings) turnBack(c *crossing) {
	i := -1
	f.Step(func() {
		if i = slices.Index(f.queue, c); i >= 0 {
			f.queue = slices.Delete(f.queue, i, i+1)
		}
	})
	if i >= 0 {
		f.land(c, 0, context.Canceled)
	}
}

// land notes what became of a write.
func (f *crossings) land(c *crossing, revision uint64, err error) {
	f.Step(func() {
		delete(f.flying, c.key)
		c.revision, c.err = revision, err
		close(c.landed)
	})
}

func (f *crossings) landAll(batch []*crossing, err error) {
	for _, c := range batch {
		f.land(c, 0, err)
	}
}

// crossAll makes the writes of the queue until there are none.
func (s *Store) crossAll() {
	f := &s.fence.crossings
	for {
		var batch []*crossing
		f.Step(func() {
			batch = slices.Clone(f.queue[:next(f.queue)])
			if f.queue = slices.Delete(f.queue, 0, len(batch)); len(batch) == 0 {
				f.queue, f.drains = nil, false
			}
		})
		if len(batch) == 0 {
			return
		}
		s.crossTogether(batch)
	}
}

// crossTogether writes a batch. Where it is refused, it is written without those that come
// too late.
func (s *Store) crossTogether(batch []*crossing) {
	list := make([]*joined, len(batch))
	for i, c := range batch {
		list[i] = &c.joined
	}
	most := firstTime
	if s.fence.slow {
		most = attemptTime
	}
	first, err := s.publish(list, most)
	for begin := time.Now(); isCode(err, wrongLastUnknown) && time.Since(begin) < inTheWay; {
		time.Sleep(time.Millisecond + rand.N(stepAside-time.Millisecond)) // nobody tells
		first, err = s.publish(list, most)
	}
	s.fence.slow = errors.Is(err, nats.ErrTimeout)
	var why *jetstream.APIError
	switch refused := errors.As(err, &why); {
	case err == nil:
		for i, c := range batch {
			s.fence.land(c, first+uint64(i), nil)
		}
	case isCode(err, wrongLast):
		s.crossTogether(s.withoutLate(batch)) // of none it writes nothing
	case isCode(err, wrongLastUnknown):
		s.fence.landAll(batch, errFenced)
	case refused && len(batch) > 1: // for one of them, maybe
		s.crossTogether(batch[:len(batch)/2])
		s.crossTogether(batch[len(batch)/2:])
	case refused:
		s.fence.land(batch[0], 0, why)
	default:
		s.fence.landAll(batch, err)
	}
}

// withoutLate returns the writes of a batch that was refused which do not come too late.
// If none does, the fence is elsewhere.
func (s *Store) withoutLate(batch []*crossing) (inTime []*crossing) {
	last := make([]Entry, len(batch))
	var all sync.WaitGroup
	for i, c := range batch {
		all.Go(func() { last[i], _ = s.lastOf(context.Background(), c.key) })
	}
	all.Wait()
	for i, c := range batch {
		if revision := last[i].Revision; revision != 0 && revision != c.old {
			s.fence.land(c, revision, ErrConflict)
		} else {
			inTime = append(inTime, c)
		}
	}
	if len(inTime) < len(batch) {
		return inTime
	}
	s.fence.known.Store(false)
	s.fence.landAll(batch, errFenced)
	return nil
}

// wrongLast is the server's code for a subject that has another revision, and
// wrongLastUnknown for one that is being written.
const wrongLast, wrongLastUnknown = jetstream.JSErrCodeStreamWrongLastSequence, 10164

func isCode(err error, code jetstream.ErrorCode) bool {
	var why *jetstream.APIError
	return errors.As(err, &why) && why.ErrorCode == code
}
