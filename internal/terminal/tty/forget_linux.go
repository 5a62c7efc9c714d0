package tty

import "golang.org/x/sys/unix"

func forget(fd uintptr) { _ = unix.IoctlSetInt(int(fd), unix.TCFLSH, unix.TCIFLUSH) }

// unread is how much of what was typed nobody has read.
func unread(fd uintptr) int {
	n, _ := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
	return n
}
