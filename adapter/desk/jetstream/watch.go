package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// beatTime is how often a server says that it has nothing to tell. One that is
// silent for some of them is left for another.
const beatTime = time.Second

// Watch calls f for every value that there is, then ready once, and then f for
// every change, in the order of their revisions. It returns when ctx ends or the
// store is closed. Neither function may block for long.
func (s *Store) Watch(ctx context.Context, f func(Entry), ready func()) error {
	w := watch{Store: s, f: f, ready: ready}
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
	f     func(Entry)
	ready func() // nil once it was called
	last  uint64 // revision that was told last
}

// follow tells of changes until the server drops it.
func (w *watch) follow(ctx context.Context) error {
	from := nats.DeliverLastPerSubject()
	if w.last > 0 {
		from = nats.StartSequence(w.last + 1)
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
		w.isReady()
	}
	for count := uint64(1); ; count++ {
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
		e := Entry{Key: m.Subject[len(w.subjectOf("")):], Value: m.Data, Revision: meta.Sequence.Stream}
		if m.Header.Get("KV-Operation") != "" || m.Header.Get("Nats-Marker-Reason") != "" {
			e.Value = nil // it was removed
		} else if e.Value == nil {
			e.Value = []byte{}
		}
		if e.Revision > w.last {
			w.last = e.Revision
			w.f(e)
		}
		if count >= first || meta.NumPending == 0 {
			w.isReady()
		}
	}
}

func (w *watch) isReady() {
	if w.ready != nil {
		w.ready()
		w.ready = nil
	}
}
