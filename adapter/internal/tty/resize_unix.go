//go:build unix

package tty

import (
	"os"
	"os/signal"
	"syscall"
)

// resized signals that the terminal's size has changed, from the moment it
// returns until stop is called.
func resized() (changed <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGWINCH)
	return c, func() { signal.Stop(c) }
}
