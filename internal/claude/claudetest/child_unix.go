//go:build unix

package claudetest

import (
	"os"
	"os/signal"
	"syscall"
)

// Signals that have a stand-in close one pipe, whatever it is doing.
const (
	CloseStdoutNow = syscall.SIGUSR1
	CloseStdinNow  = syscall.SIGUSR2
)

func leaveGroup() { _, _ = syscall.Setsid() }

// closeStdin does not wait for the read that runs.
func closeStdin() { _ = syscall.Close(0) }

// watchPipes closes pipes on signals.
func (e *engine) watchPipes() {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, CloseStdoutNow, CloseStdinNow)
	go func() {
		for s := range signals {
			if s == CloseStdoutNow {
				e.out.close()
				e.note(Line{Mute: true})
			} else {
				e.deafen()
			}
		}
	}()
}
