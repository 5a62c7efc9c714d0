package claude

import (
	"errors"
	"os"
	"time"
)

// drainReader reads the output of a process to its end. Once the process is
// gone it waits a bound for each piece: a process that left the group may
// hold the pipe open for ever. The bound starts anew with each read, because
// a slow consumer may keep the reader from reading for any time.
//
// What is in the pipe is read also behind the bound: a machine that stood still
// loses nothing of it.
type drainReader struct {
	f      *os.File
	exited <-chan struct{}
}

func (d *drainReader) Read(b []byte) (int, error) {
	select {
	case <-d.exited:
		d.f.SetReadDeadline(time.Now().Add(drainGrace))
	default:
	}
	n, err := d.f.Read(b)
	if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) {
		if left, ok := readNow(d.f, b); ok {
			return left, nil
		}
	}
	return n, err
}
