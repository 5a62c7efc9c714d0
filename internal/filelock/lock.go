// Package filelock locks a file against other processes. The system gives the
// lock back when the file is closed or the process ends, however it ends.
package filelock

import "errors"

// ErrLocked means that another process has the lock.
var ErrLocked = errors.New("locked by another process")
