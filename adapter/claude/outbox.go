package claude

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// outboxBytes bounds what waits for a CLI that does not read. A single line
// is always taken: a prompt may carry large images.
const outboxBytes = 64 << 20

// ErrNotReading means that the CLI has not read its input for so long that
// nothing more is queued for it.
var ErrNotReading = errors.New("claude: Claude Code is not reading its input")

var errInputClosed = fmt.Errorf("claude: the input is closed: %w", ErrExited)

// outbox writes lines from a goroutine of its own, so that no sender ever
// waits for the CLI.
type outbox struct {
	w     io.WriteCloser
	limit int
	trace func(line []byte)

	mu      sync.Mutex
	queue   [][]byte
	bytes   int
	closing bool
	err     error
	work    chan struct{} // capacity 1
}

func newOutbox(w io.WriteCloser, limit int, trace func([]byte)) *outbox {
	return &outbox{w: w, limit: limit, trace: trace, work: make(chan struct{}, 1)}
}

// send queues one line. It never blocks.
func (o *outbox) send(line []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.err != nil:
		return o.err
	case o.closing:
		return errInputClosed
	case len(o.queue) > 0 && o.bytes+len(line) > o.limit:
		return ErrNotReading
	}
	o.queue = append(o.queue, line)
	o.bytes += len(line)
	o.wake()
	return nil
}

// close lets what is queued be written, then closes the stream.
func (o *outbox) close() {
	o.mu.Lock()
	o.closing = true
	o.mu.Unlock()
	o.wake()
}

func (o *outbox) wake() {
	select {
	case o.work <- struct{}{}:
	default:
	}
}

// run writes until close was called or a write fails, closes the stream, and
// returns the write's error.
func (o *outbox) run() error {
	defer o.w.Close()
	for range o.work {
		for {
			o.mu.Lock()
			if len(o.queue) == 0 {
				closing := o.closing
				o.queue = nil
				o.mu.Unlock()
				if closing {
					return nil
				}
				break
			}
			line := o.queue[0]
			o.mu.Unlock()
			if o.trace != nil {
				o.trace(line[:len(line)-1])
			}
			_, err := o.w.Write(line)
			o.mu.Lock()
			o.queue[0] = nil
			o.queue = o.queue[1:]
			o.bytes -= len(line)
			if err != nil {
				o.err = fmt.Errorf("claude: %w: %w", ErrExited, err)
				o.queue, o.bytes = nil, 0
				err = o.err
			}
			o.mu.Unlock()
			if err != nil {
				return err
			}
		}
	}
	return nil
}
