//go:build unix

package tty

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// changes signals that the terminal's size has changed, and that the process
// goes on after it was stopped, from the moment it returns until stop is called.
func changes() (resized, continued <-chan os.Signal, stop func()) {
	r, c := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(r, syscall.SIGWINCH)
	signal.Notify(c, syscall.SIGCONT)
	return r, c, func() {
		signal.Stop(r)
		signal.Stop(c)
	}
}

// stopTime is how long a process may take to be stopped. One that no shell
// waits for is not stopped at all.
const stopTime = 100 * time.Millisecond

// stopProcess stops the process and those it is in a pipe with, as the terminal
// does on Ctrl+Z, and returns when it goes on. It reports whether it was
// stopped.
func stopProcess() bool {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGCONT)
	defer signal.Stop(c)
	return syscall.Kill(0, syscall.SIGTSTP) == nil && proc.Within(c, stopTime)
}
