//go:build unix

package backend_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func kill(t testing.TB, pid int) { require.NoError(t, syscall.Kill(pid, syscall.SIGKILL)) }

func interrupt(t testing.TB, pid int) { require.NoError(t, syscall.Kill(pid, syscall.SIGINT)) }

func requireGone(t testing.TB, pid int) {
	require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH, "the process is gone")
}
