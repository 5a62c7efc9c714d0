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

// shows waits until the screen is exactly this: what a program draws at once may come in pieces.
func shows(t *testing.T, c *ttytest.Console, text string) {
	t.Helper()
	c.Wait("exactly\n"+text, func(s ttytest.Screen) bool { return s.Text == text })
}
