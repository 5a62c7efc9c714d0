package codex

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// ErrWatched means that another process watches.
var ErrWatched = errors.New("Codex is watched already, by the hub or by another acp-bridge watch")

// Lock makes sure that one process of a user watches: two would ask everything twice.
func Lock(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	unlock, err = proc.LockFile(filepath.Join(dir, "watch-codex.lock"))
	if errors.Is(err, proc.ErrLocked) {
		err = ErrWatched
	}
	return unlock, err
}
