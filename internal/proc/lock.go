package proc

import (
	"errors"
	"fmt"
	"os"
)

// ErrLocked means that another process has the lock of a file. The system gives it back
// when the file is closed or the process ends, however it ends.
var ErrLocked = errors.New("locked by another process")

// LockFile makes a file, and locks it until unlock is called. Its error matches [ErrLocked]
// if another process has it.
func LockFile(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := TryLock(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return func() { Unlock(f) }, nil
}
