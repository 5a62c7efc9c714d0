package claude

import (
	"context"
	"sync"
)

// inboxBytes is how much is read ahead of the consumer. One message is always
// taken, however long it is.
const inboxBytes = 256 << 10

// messageOverhead is what a queued message costs besides its line.
const messageOverhead = 128

// inbox hands messages from the one reader to one consumer. put waits while
// the box is full; that is what slows the CLI down.
type inbox struct {
	mu       sync.Mutex
	queue    []Message
	bytes    int
	limit    int
	err      error // set by end: what get returns once the queue is empty
	discard  bool
	arrived  chan struct{} // capacity 1
	consumed chan struct{} // capacity 1
}

func newInbox(limit int) *inbox {
	return &inbox{limit: limit, arrived: make(chan struct{}, 1), consumed: make(chan struct{}, 1)}
}

// put queues m, waiting for room.
func (b *inbox) put(m Message) {
	for {
		b.mu.Lock()
		if b.discard || b.err != nil {
			b.mu.Unlock()
			return
		}
		if len(b.queue) == 0 || b.bytes < b.limit {
			b.queue = append(b.queue, m)
			b.bytes += len(m.Raw) + messageOverhead
			b.mu.Unlock()
			wake(b.arrived)
			return
		}
		b.mu.Unlock()
		<-b.consumed
	}
}

// get returns the next message, or the error given to end once all messages
// were returned.
func (b *inbox) get(ctx context.Context) (Message, error) {
	for {
		b.mu.Lock()
		if len(b.queue) > 0 {
			m := b.queue[0]
			b.queue[0] = Message{}
			b.queue = b.queue[1:]
			b.bytes -= len(m.Raw) + messageOverhead
			if len(b.queue) == 0 {
				b.queue = nil
			} else {
				wake(b.arrived) // for another caller of get
			}
			b.mu.Unlock()
			wake(b.consumed)
			return m, nil
		}
		err := b.err
		b.mu.Unlock()
		if err != nil {
			wake(b.arrived)
			return Message{}, err
		}
		select {
		case <-b.arrived:
		case <-ctx.Done():
			return Message{}, ctx.Err()
		}
	}
}

// end makes get return err after the queued messages. The first call counts.
func (b *inbox) end(err error) {
	b.mu.Lock()
	if b.err == nil {
		b.err = err
	}
	b.mu.Unlock()
	wake(b.arrived)
	wake(b.consumed)
}

// drop throws away what is queued and all that comes, so that the reader
// never waits again.
func (b *inbox) drop() {
	b.mu.Lock()
	b.discard = true
	b.queue, b.bytes = nil, 0
	b.mu.Unlock()
	wake(b.consumed)
}

func (b *inbox) dropping() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.discard
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
