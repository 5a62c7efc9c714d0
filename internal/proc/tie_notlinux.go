//go:build unix && !linux

package proc

import "os/exec"

// starter starts children from any thread: only Linux has a signal for the death
// of a parent. Here the child sees the end of its input, and the watcher ends it.
type starter struct{}

func (starter) start(cmd *exec.Cmd, _ *tie) error { return cmd.Start() }

func (starter) stop() {}

func unbrand(int) {}

// endMarked does nothing: there is no way to find out about the environment of
// other processes.
func (*tie) endMarked() {}

// awaitExit returns when the process has ended. Here it reaps it too: a later
// Wait returns at once.
func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }
