//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package proc_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// Between its fork and its program a child has every file of its parent, so the same lock
// under a number of its own.
func TestALockIsGivenBackBesideAFork(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	f, err := os.Create(name)
	require.NoError(t, err)
	require.NoError(t, proc.TryLock(f))
	child, err := syscall.Dup(int(f.Fd()))
	require.NoError(t, err)
	defer syscall.Close(child)

	_, err = proc.LockFile(name)
	require.ErrorIs(t, err, proc.ErrLocked)
	proc.Unlock(f)
	unlock, err := proc.LockFile(name)
	require.NoError(t, err)
	unlock()
}
