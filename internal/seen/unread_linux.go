package seen

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// unreadIn returns a function that says how many bytes of what was written to w
// its reader has not taken yet; nil where that cannot be known.
func unreadIn(w io.Writer) func() int {
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return nil
	}
	request := uint(unix.TIOCINQ)
	if info.Mode()&os.ModeSocket != 0 {
		request = unix.TIOCOUTQ // more than the bytes, and 0 when all is read
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return nil
	}
	return func() (n int) {
		_ = raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), request) })
		return max(n, 0)
	}
}
