//go:build unix

package proc

import (
	"os"
	"syscall"
)

// now reads what is in a pipe, without waiting and whatever its deadline is.
func now(f *os.File, b []byte) (n int, ok bool) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, false
	}
	err = raw.Control(func(fd uintptr) {
		for n, ok = 0, true; ok; {
			var failed error
			if n, failed = syscall.Read(int(fd), b); failed == nil {
				return
			}
			ok = failed == syscall.EINTR
		}
	})
	return n, err == nil && ok && n > 0
}
