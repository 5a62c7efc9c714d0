//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package pending

import (
	"errors"
	"os"
	"syscall"
)

func tryLock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errLocked
		case errors.Is(err, errors.ErrUnsupported), errors.Is(err, syscall.ENOLCK):
			// A file system without locks. New files still never replace
			// others.
			return nil
		}
		return err
	}
}
