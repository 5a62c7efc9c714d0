// Package drain reads what a process that has ended left in a pipe.
package drain

import (
	"errors"
	"os"
	"time"
)

// Grace is how long each piece is waited for once the process is gone. It comes
// at once, unless another process holds the pipe open.
const Grace = 250 * time.Millisecond

// Reader reads the output of a process to its end. Once the process is gone it
// waits a bound for each piece: a process that left the group may hold the pipe
// open for ever. The bound starts anew with each read, because a slow consumer
// may keep the reader from reading for any time.
//
// What is in the pipe is read also behind the bound: a machine that stood still
// loses nothing of it.
type Reader struct {
	File *os.File
	// Ended is closed when the process is gone. A read that waits then needs
	// [Bound].
	Ended <-chan struct{}
}

// Bound starts the bound of a read that waits.
func Bound(f *os.File) { _ = f.SetReadDeadline(time.Now().Add(Grace)) }

func (r *Reader) Read(b []byte) (int, error) {
	select {
	case <-r.Ended:
		Bound(r.File)
	default:
	}
	n, err := r.File.Read(b)
	if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) {
		if left, ok := now(r.File, b); ok {
			return left, nil
		}
	}
	return n, err
}
