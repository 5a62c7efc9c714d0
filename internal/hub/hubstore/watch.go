package hubstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// beatTime is how often a server says that it has nothing to tell. One that is
// silent for some of them is left for another.
const beatTime = time.Second

// Watch calls f for every value that there is, then ready once, and then f for
// every change, in the order of their revisions. It returns when ctx ends or the
// store is closed. Neither function may block for long.
func (s *Store) Watch(ctx context.Context, f func(Entry), ready func()) error {
	w := &watch{Store: s, f: f, ready: ready, ahead: map[uint64]Entry{}}
	ctx, stop := context.WithCancel(ctx)
	defer w.asking.Wait()
	defer stop()
	if !s.shared {
		s.watches.Store(w, nil)
		defer s.watches.Delete(w)
	}
	for {
		err := w.follow(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !s.shared, s.conn.IsClosed():
			return fmt.Errorf("watch the bucket: %w", err)
		}
		pause(ctx, retryPause)
	}
}

// watch goes on where it was when a server is lost.
type watch struct {
	*Store
	ready  func() // nil once it was called
	asking sync.WaitGroup

	proc.Shared // which calls f
	f           func(Entry)
	last        uint64 // revision that was told last
	own         bool   // what is written is told, see [Store.wrote]
	// ahead are writes that come after one that was not told yet, by revision.
	ahead map[uint64]Entry
}

// follow tells of changes until the server drops it.
func (w *watch) follow(ctx context.Context) error {
	before := uint64(0)
	if !w.shared {
		info, err := w.direct.StreamInfo(w.stream())
		if err != nil {
			return err
		}
		before = info.State.LastSeq
	}
	from := nats.DeliverLastPerSubject()
	if last := w.told(); last > 0 {
		from = nats.StartSequence(last + 1)
	}
	sub, err := w.direct.SubscribeSync(w.subjectOf(">"), nats.BindStream(w.stream()), nats.OrderedConsumer(), nats.IdleHeartbeat(beatTime), from)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }() // it may have ended
	first, err := sub.InitialConsumerPending()
	if err != nil {
		return err
	}
	if first == 0 {
		w.isReady(ctx)
	}
	for count := uint64(1); w.shared || w.ready != nil; count++ {
		m, err := sub.NextMsgWithContext(ctx)
		if errors.Is(err, nats.ErrSlowConsumer) {
			continue // what was dropped is sent again
		}
		if err != nil {
			return err
		}
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		w.tell(m.Subject, m.Header, m.Data, meta.Sequence.Stream)
		if count >= first || meta.NumPending == 0 {
			w.isReady(ctx)
		}
	}
	_ = sub.Unsubscribe()
	return w.followOwn(ctx, before)
}

// tell calls f unless a later change was told: two tell of the same ones, and
// each in order.
func (w *watch) tell(subject string, header nats.Header, value []byte, revision uint64) {
	e := Entry{Key: subject[len(w.subjectOf("")):], Value: there(value), Revision: revision}
	if header.Get("KV-Operation") != "" || header.Get("Nats-Marker-Reason") != "" {
		e.Value = nil // it was removed
	}
	w.Step(func() {
		w.take(e)
		w.skip(w.last)
		w.goOn()
	})
}

// take calls f unless a later change was told. It is called in a step.
func (w *watch) take(e Entry) {
	if e.Revision > w.last {
		w.last = e.Revision
		w.f(e)
	}
}

func (w *watch) told() (last uint64) {
	w.Step(func() { last = w.last })
	return last
}

func (w *watch) isReady(ctx context.Context) {
	if w.ready == nil {
		return
	}
	w.ready()
	w.ready = nil
	if w.shared {
		w.asking.Go(func() { w.ask(ctx) })
	}
}

const (
	// quietTime is how long nothing may be told before the bucket is asked, and
	// askTime how long that may take.
	quietTime = 250 * time.Millisecond
	askTime   = time.Second
)

// ask asks for changes while nothing is told. What tells of them may have died
// with its server, and only the leader of the whole cluster can make another one:
// if that died, too, the bucket may be written for seconds before there is one.
func (w *watch) ask(ctx context.Context) {
	quiet := time.NewTicker(quietTime)
	defer quiet.Stop()
	for last := w.told(); ; {
		select {
		case <-quiet.C:
		case <-ctx.Done():
			return
		}
		if before := last; before == w.told() {
			for w.askOnce(ctx) == nil {
			}
		}
		last = w.told()
	}
}

// askOnce tells of the change after the last one, from any server that has it.
func (w *watch) askOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	m, err := w.direct.GetMsg(w.stream(), w.told()+1, nats.DirectGetNext(w.subjectOf(">")), nats.Context(ctx))
	if err != nil {
		return err
	}
	w.tell(m.Subject, m.Header, m.Data, m.Sequence)
	return nil
}
