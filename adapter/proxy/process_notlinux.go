//go:build unix && !linux

package proxy

import (
	"os/exec"
	"syscall"
)

// tie gives the agent a group of its own, to be ended with all that it starts.
func tie(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
