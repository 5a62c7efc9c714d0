package proc

import (
	"errors"
	"os"
	"time"
)

// Grace is how long each piece of output is waited for once the child is gone. It
// comes at once, unless another process holds the pipe open.
const Grace = 250 * time.Millisecond

// Output reads what a child writes, to its end. Once the child is gone it waits a
// bound for each piece: a process that left the group may hold the pipe open for
// ever. The bound starts anew with each read, because a slow consumer may keep
// the reader from reading for any time.
//
// What is in the pipe is read also behind the bound: a machine that stood still
// loses nothing of it.
type Output struct {
	file  *os.File
	ended <-chan struct{} // closed when the child is gone; a read that waits then needs bound
}

// bound starts the bound of a read that waits.
func bound(f *os.File) { _ = f.SetReadDeadline(time.Now().Add(Grace)) }

func (o *Output) Read(b []byte) (int, error) {
	select {
	case <-o.ended:
		bound(o.file)
	default:
	}
	n, err := o.file.Read(b)
	if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) {
		if left, ok := now(o.file, b); ok {
			return left, nil
		}
	}
	return n, err
}

// Close lets the child know that nobody reads any more.
func (o *Output) Close() error { return o.file.Close() }
