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
// waits for the CLI. The goroutine is there while there is something to write.
type outbox struct {
	w     io.WriteCloser
	limit int
	trace func(line []byte)
	start func(write func() error) // runs write in a goroutine

	mu      sync.Mutex
	queue   [][]byte
	bytes   int
	writing bool // write runs, or is about to
	closing bool
	err     error
}

func newOutbox(w io.WriteCloser, limit int, trace func([]byte), start func(func() error)) *outbox {
	return &outbox{w: w, limit: limit, trace: trace, start: start}
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
	if !o.writing {
		o.writing = true
		o.start(o.write)
	}
	return nil
}

// close lets what is queued be written, then closes the stream.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closing = true
	if !o.writing {
		o.w.Close()
	}
}

// write writes what is queued. After close, or an error, which it returns, it
// closes the stream.
func (o *outbox) write() error {
	for {
		o.mu.Lock()
		if len(o.queue) == 0 {
			o.queue, o.writing = nil, false
			if o.closing {
				o.w.Close()
			}
			o.mu.Unlock()
			return nil
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
			err = fmt.Errorf("claude: %w: %w", ErrExited, err)
			o.err = err
			o.queue, o.bytes = nil, 0
			o.w.Close()
		}
		o.mu.Unlock()
		if err != nil {
			return err
		}
	}
}
