//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package tty

import "golang.org/x/sys/unix"

const (
	fread    = 1          // what was read from the device, not what is written to it
	fionread = 0x4004667f // the same on all of these; the package has no name for it
)

func forget(fd uintptr) { _ = unix.IoctlSetPointerInt(int(fd), unix.TIOCFLUSH, fread) }

// unread is how much of what was typed nobody has read.
func unread(fd uintptr) int {
	n, _ := unix.IoctlGetInt(int(fd), fionread)
	return n
}
