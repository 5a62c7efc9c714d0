//go:build unix

package client

import (
	"os/exec"
	"syscall"
)

// setGroup gives the agent a process group of its own: Ctrl+C is for the
// client, and what the agent starts can be ended with it.
func setGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func termGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
