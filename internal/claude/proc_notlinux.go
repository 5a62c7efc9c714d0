//go:build !linux

package claude

import "os/exec"

// startTied starts cmd. Only Linux has a signal for the death of a parent;
// elsewhere the CLI ends at the end of its input.
func startTied(cmd *exec.Cmd) (brand uint64, err error) { return 0, cmd.Start() }

func untie() {}

// endMarked does nothing: there is no way to find out about the environment of
// other processes.
func endMarked(string, uint64) {}

// awaitExit returns when the process has ended. Here it reaps it too: a later
// Wait returns at once.
func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }
