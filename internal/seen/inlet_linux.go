package seen

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// readable returns the functions of an [Inlet].
func readable(r io.Reader) (wait func(), empty func() bool) {
	f, ok := r.(*os.File)
	if !ok {
		return nil, nil
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, nil
	}
	blocking := false
	if raw.Control(func(fd uintptr) { blocking, err = isBlocking(fd) }) != nil || err != nil {
		return nil, nil
	}
	wait = func() {
		_ = raw.Read(func(fd uintptr) bool {
			timeout := 0
			if blocking { // the runtime cannot wait for it
				timeout = -1
			}
			return ready(fd, timeout)
		})
	}
	return wait, func() (none bool) {
		return raw.Control(func(fd uintptr) { none = !ready(fd, 0) }) == nil && none
	}
}

func isBlocking(fd uintptr) (bool, error) {
	flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
	return flags&unix.O_NONBLOCK == 0, err
}

// ready reports whether a read would return at once. A timeout of -1 waits for that.
func ready(fd uintptr, timeout int) bool {
	for {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, timeout); err != syscall.EINTR {
			return n != 0 // an error is for whoever reads
		}
	}
}
