//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package proc

import (
	"errors"
	"os"
	"syscall"
)

// TryLock locks a file, or returns [ErrLocked] if another process has done so. A file
// system without locks is taken as it is: then nobody is kept out.
func TryLock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrLocked
		case errors.Is(err, errors.ErrUnsupported), errors.Is(err, syscall.ENOLCK):
			return nil // a file system without locks
		}
		return err
	}
}

// Unlock gives a lock back and closes its file. To close it is not enough: a process that is
// being started has the file, too, until it runs its program.
func Unlock(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	_ = f.Close()
}
