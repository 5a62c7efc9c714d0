//go:build unix

package ndjson

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Direct returns a function that writes as much to w as it takes without
// waiting, and says how much that was; nil for a w that may wait. It spares a
// hand-over to another goroutine, and often a thread, for each message. What
// goes wrong is left to the next ordinary Write.
func Direct(w io.Writer) func([]byte) int {
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return nil
	}
	waits := true
	_ = raw.Control(func(fd uintptr) {
		flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
		waits = err != nil || flags&unix.O_NONBLOCK == 0
	})
	if waits {
		return nil
	}
	d := &direct{raw: raw}
	d.write = d.try
	return d.to
}

// direct is used by one goroutine at a time.
type direct struct {
	raw   syscall.RawConn
	write func(fd uintptr) bool
	b     []byte
	n     int
}

func (d *direct) to(b []byte) int {
	d.b, d.n = b, 0
	_ = d.raw.Write(d.write)
	d.b = nil
	return max(d.n, 0)
}

func (d *direct) try(fd uintptr) bool {
	d.n, _ = unix.Write(int(fd), d.b)
	return true // done, whatever came of it
}
