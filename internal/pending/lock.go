package pending

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/filelock"
)

const lockName = "lock"

// lockPatience is more than any holder needs: it reads and writes a few files.
const lockPatience = 10 * time.Second

// lock keeps other programs of this user from changing the folder. The lock is
// kept with the records: the folder may not be ours to write.
func (d *dir) lock() (unlock func(), err error) {
	path := filepath.Join(d.records.dir, lockName)
	err = os.MkdirAll(d.records.dir, 0o700)
	var f *os.File
	if err == nil {
		f, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be locked: %w", d.name, err)
	}
	for end := time.Now().Add(lockPatience); ; {
		err := filelock.Try(f)
		switch {
		case err == nil:
			return func() { _ = f.Close() }, nil // which unlocks
		case !errors.Is(err, filelock.ErrLocked), time.Now().After(end):
			_ = f.Close()
			return nil, fmt.Errorf("%s cannot be locked: %s: %w", d.name, path, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
