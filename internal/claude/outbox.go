package claude

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	lanes "github.com/acp-bridge/acp-bridge/internal/conn"
)

// outboxBytes bounds what waits for a CLI that does not read. A single line
// is always taken: a prompt may carry large images.
const outboxBytes = 64 << 20

// ErrNotReading means that the CLI has not read its input for so long that
// nothing more is queued for it.
var ErrNotReading = errors.New("claude: Claude Code is not reading its input")

var errInputClosed = fmt.Errorf("claude: the input is closed: %w", ErrExited)

// outbox writes lines on a lane. No sender ever waits for the CLI.
type outbox struct {
	w     io.WriteCloser
	limit int64
	trace func(line []byte)
	lane  *lanes.Lane[[]byte]

	waiting atomic.Int64          // bytes that are not written yet
	failed  atomic.Pointer[error] // why nothing more is taken
	closed  bool                  // of the lane
}

// newOutbox makes one whose lines are written by functions that run calls at once.
func newOutbox(w io.WriteCloser, limit int64, trace func([]byte), run func(write func() error)) *outbox {
	o := &outbox{w: w, limit: limit, trace: trace}
	o.lane = lanes.NewLane(func(lines [][]byte) { run(func() error { return o.write(lines) }) })
	return o
}

// send queues one line. It never blocks.
func (o *outbox) send(line []byte) error {
	if err := o.failed.Load(); err != nil {
		return *err
	}
	n := int64(len(line))
	if all := o.waiting.Add(n); all > o.limit && all > n {
		o.waiting.Add(-n)
		return ErrNotReading
	}
	o.lane.Post(line)
	return nil
}

// close lets what is queued be written, then closes the stream.
func (o *outbox) close() {
	o.failed.CompareAndSwap(nil, &errInputClosed)
	o.lane.Post(nil)
}

// wait waits until nothing is written any more.
func (o *outbox) wait() {
	o.lane.Enter()
	o.lane.Leave()
}

// write writes lines; nil closes the stream, and so does an error, which it returns.
func (o *outbox) write(lines [][]byte) error {
	for _, line := range lines {
		if o.closed || line == nil {
			o.closed = true
			o.w.Close()
			continue
		}
		if o.trace != nil {
			o.trace(line[:len(line)-1])
		}
		if _, err := o.w.Write(line); err != nil {
			err = fmt.Errorf("claude: %w: %w", ErrExited, err)
			o.failed.Store(&err)
			o.closed = true
			o.w.Close()
			return err
		}
		o.waiting.Add(-int64(len(line)))
	}
	return nil
}
