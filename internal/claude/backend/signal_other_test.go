//go:build !unix

package backend_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

func kill(t testing.TB, pid int) {
	p := acptest.Must(os.FindProcess(pid))
	require.NoError(t, p.Kill())
}

func interrupt(t testing.TB, _ int) { t.Skip("one process cannot interrupt another here") }

func requireGone(t testing.TB, pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Release()
		require.Fail(t, "a process is left")
	}
}
