package files

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const lockName = "lock"

// errLocked means that another program holds the lock.
var errLocked = errors.New("locked")

// lockPatience is more than any holder needs: it reads and writes a few files.
const lockPatience = 10 * time.Second

// lock keeps other programs of ours from changing the folder. A directory that
// is no folder of ours gets no lock file.
func (d *dir) lock() (unlock func(), err error) {
	if filepath.Base(d.name) != Folder {
		return func() {}, nil
	}
	f, err := d.root.OpenFile(lockName, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, d.unwritten(lockName, err)
	}
	for end := time.Now().Add(lockPatience); ; {
		err := tryLock(f)
		switch {
		case err == nil:
			return func() { _ = f.Close() }, nil // which unlocks
		case !errors.Is(err, errLocked), time.Now().After(end):
			_ = f.Close()
			return nil, fmt.Errorf("%s: %w", d.path(lockName), err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
