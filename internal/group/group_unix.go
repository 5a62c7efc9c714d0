//go:build unix

// Package group ends a program with all that it started.
package group

import (
	"os/exec"
	"syscall"
)

// Set gives a program that is about to start a process group of its own: Ctrl+C
// is not for it, and what it starts can be ended with it.
func Set(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// Term asks the program and all of its group to end.
func Term(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

// Kill ends the program and all of its group.
func Kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
