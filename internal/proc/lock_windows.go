package proc

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// TryLock locks a file, or returns [ErrLocked] if another process has done so.
func TryLock(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}

// Unlock gives a lock back and closes its file.
func Unlock(f *os.File) { _ = f.Close() }
