package pending

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/proc"
)

const (
	lockName = "lock"
	nextName = "next" // whoever has it is the next one to get the lock
)

const (
	// lockPatience is how long one holder may have the lock. It reads and writes a
	// few files: after this it has been stopped, or its disk has.
	lockPatience = time.Minute
	lockInterval = 5 * time.Millisecond
)

// lock keeps other programs of this user from changing the folder. The lock is
// kept with the records: the folder may not be ours to write. However many wait
// for it, each gets it: one that has just given it back queues behind them.
func (d *dir) lock() (unlock func(), err error) {
	if err = os.MkdirAll(d.records.dir, 0o700); err != nil {
		return nil, fmt.Errorf("%s cannot be locked: %w", d.name, err)
	}
	next, err := d.take(nextName)
	if err != nil {
		return nil, err
	}
	defer proc.Unlock(next)
	f, err := d.take(lockName)
	if err != nil {
		return nil, err
	}
	return func() { proc.Unlock(f) }, nil
}

// take waits for one of the locks as long as it changes hands, which others see
// by the time of its file.
func (d *dir) take(name string) (*os.File, error) {
	path := filepath.Join(d.records.dir, name)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be locked: %w", d.name, err)
	}
	for since, taken := time.Now(), takenAt(f); ; time.Sleep(lockInterval) {
		if err = proc.TryLock(f); err == nil {
			now := time.Now()
			_ = os.Chtimes(path, now, now)
			return f, nil
		}
		if now := takenAt(f); !now.Equal(taken) {
			since, taken = time.Now(), now
		}
		if !errors.Is(err, proc.ErrLocked) || time.Since(since) > lockPatience {
			_ = f.Close()
			return nil, fmt.Errorf("%s cannot be locked: %s: %w", d.name, path, err)
		}
	}
}

func takenAt(f *os.File) time.Time {
	info, err := f.Stat()
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
