//go:build unix

package main

import (
	"os"
	"os/exec"
	"testing"

	"github.com/acp-bridge/acp-bridge/internal/terminal/ttytest"
)

// startConsole runs acp-bridge on a terminal.
func startConsole(t testing.TB, w, h int, env []string, args ...string) *ttytest.Console {
	t.Helper()
	cmd := exec.Command(self(t), args...)
	cmd.Env = append(append(append(os.Environ(), asBridge+"=1"), ttytest.Env...), env...)
	return ttytest.Start(t, cmd, w, h)
}
