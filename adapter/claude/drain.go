package claude

import (
	"os"
	"time"
)

// drainReader reads the output of a process to its end. Once the process is
// gone it waits a bound for each piece: a process that left the group may
// hold the pipe open for ever. The bound starts anew with each read, because
// a slow consumer may keep the reader from reading for any time.
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
	return d.f.Read(b)
}
