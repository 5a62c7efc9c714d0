//go:build unix

package tty

import (
	"github.com/charmbracelet/x/term"
	"golang.org/x/sys/unix"
)

func quiet(fd uintptr) (loud func()) {
	was, err := term.GetState(fd)
	if err != nil {
		return func() {}
	}
	now := *was
	now.Lflag = now.Lflag&^unix.ECHO | unix.ECHONL
	_ = term.SetState(fd, &now)
	return func() { _ = term.SetState(fd, was) }
}

// dropUnread looks without waiting for whole lines: else the beginning of one is not there.
func dropUnread(fd uintptr) (some, begun bool) {
	was, err := term.GetState(fd)
	if err != nil {
		return false, false
	}
	whole := unread(fd)
	now := *was
	now.Lflag &^= unix.ICANON
	_ = term.SetState(fd, &now)
	defer func() { _ = term.SetState(fd, was) }()
	all := unread(fd)
	if all > 0 {
		forget(fd)
	}
	return all > 0, all > whole
}
