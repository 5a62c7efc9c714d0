//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package proc_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// Between its fork and its program a child has every file of its parent, so the same lock
// under a number of its own.
func TestALockIsGivenBackBesideAFork(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	f := acptest.Must(os.Create(name))
	require.NoError(t, proc.TryLock(f))
	defer syscall.Close(acptest.Must(syscall.Dup(int(f.Fd()))))

	require.ErrorIs(t, acptest.Err(proc.LockFile(name)), proc.ErrLocked)
	proc.Unlock(f)
	acptest.Must(proc.LockFile(name))()
}
