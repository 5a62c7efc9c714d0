//go:build !unix

package backend_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func kill(t testing.TB, pid int) {
	p, err := os.FindProcess(pid)
	require.NoError(t, err)
	require.NoError(t, p.Kill())
}

func interrupt(t testing.TB, _ int) { t.Skip("one process cannot interrupt another here") }

func requireGone(t testing.TB, pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Release()
		require.Fail(t, "a process is left")
	}
}
