package claude

import (
	"errors"
	"os"
	"time"
)

// drainReader reads the output of a process to its end. Once the process is
// gone it waits a bound for each piece: a process that left the group may
// hold the pipe open for ever.
type drainReader struct {
	f      *os.File
	exited <-chan struct{}
}

func (d *drainReader) Read(b []byte) (int, error) {
	for {
		gone := false
		select {
		case <-d.exited:
			gone = true
			d.f.SetReadDeadline(time.Now().Add(drainGrace))
		default:
		}
		n, err := d.f.Read(b)
		if n == 0 && !gone && errors.Is(err, os.ErrDeadlineExceeded) {
			// The exit ended this read; what is in the pipe comes first. The
			// channel is closed before the deadline is set.
			continue
		}
		return n, err
	}
}
