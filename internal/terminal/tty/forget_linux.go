package tty

import "golang.org/x/sys/unix"

func forget(fd uintptr) { _ = unix.IoctlSetInt(int(fd), unix.TCFLSH, unix.TCIFLUSH) }
