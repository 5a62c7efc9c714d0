package proc

import "errors"

// ErrLocked means that another process has the lock of a file. The system gives it back
// when the file is closed or the process ends, however it ends.
var ErrLocked = errors.New("locked by another process")
