package claude

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

// outboxBytes bounds what waits for a CLI that does not read. A single line
// is always taken: a prompt may carry large images.
const outboxBytes = 64 << 20

// ErrNotReading means that the CLI has not read its input for so long that
// nothing more is queued for it.
var ErrNotReading = errors.New("claude: Claude Code is not reading its input")

var errInputClosed = fmt.Errorf("claude: the input is closed: %w", ErrExited)

// outbox writes lines. No sender ever waits for the CLI: it writes what the
// stream takes at once, and a goroutine writes the rest. The goroutine is there
// while there is something to write.
type outbox struct {
	w      io.WriteCloser
	direct func([]byte) int // see ndjson.Direct
	limit  int
	trace  func(line []byte)
	run    writeRunner

	mu      sync.Mutex
	queue   [][]byte
	bytes   int
	writing bool // somebody writes, or is about to
	closing bool
	err     error

	begun bool // a part of the first line is written; for who writes
}

// writeRunner runs write, in a goroutine of its own or at once.
type writeRunner func(write func() error, apart bool)

func newOutbox(w io.WriteCloser, limit int, trace func([]byte), run writeRunner) *outbox {
	return &outbox{w: w, direct: ndjson.Direct(w), limit: limit, trace: trace, run: run}
}

// send queues one line. It never blocks.
func (o *outbox) send(line []byte) error {
	o.mu.Lock()
	switch {
	case o.err != nil:
		defer o.mu.Unlock()
		return o.err
	case o.closing:
		defer o.mu.Unlock()
		return errInputClosed
	case len(o.queue) > 0 && o.bytes+len(line) > o.limit:
		defer o.mu.Unlock()
		return ErrNotReading
	}
	o.queue = append(o.queue, line)
	o.bytes += len(line)
	idle := !o.writing
	o.writing = true
	o.mu.Unlock()
	switch {
	case !idle:
	case o.direct != nil:
		o.run(o.writeAtOnce, false)
	default:
		o.run(o.write, true)
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
		line := o.first()
		if line == nil {
			return nil
		}
		if _, err := o.w.Write(line); err != nil {
			return o.fail(err)
		}
		o.wrote(len(line))
	}
}

// writeAtOnce writes what the stream takes now, and leaves the rest to write.
func (o *outbox) writeAtOnce() error {
	for {
		line := o.first()
		if line == nil {
			return nil
		}
		n := o.direct(line)
		o.wrote(n)
		if n < len(line) {
			o.run(o.write, true)
			return nil
		}
	}
}

// first returns what is to be written next, nil if nothing is: then the stream
// is closed if it is to be, and nobody writes any more.
func (o *outbox) first() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) == 0 {
		o.queue, o.writing = nil, false
		if o.closing {
			o.w.Close()
		}
		return nil
	}
	line := o.queue[0]
	if o.trace != nil && !o.begun {
		o.mu.Unlock()
		defer o.mu.Lock()
		o.trace(line[:len(line)-1])
	}
	return line
}

// wrote takes n bytes off the first line.
func (o *outbox) wrote(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bytes -= n
	if o.begun = n < len(o.queue[0]); o.begun {
		o.queue[0] = o.queue[0][n:]
		return
	}
	o.queue[0] = nil
	o.queue = o.queue[1:]
}

func (o *outbox) fail(err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err = fmt.Errorf("claude: %w: %w", ErrExited, err)
	o.queue, o.bytes = nil, 0
	o.w.Close()
	return o.err
}
