package proxy

import (
	"os/exec"
	"syscall"
)

// tie gives the agent a group of its own, and an end when this process has
// ended.
func tie(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
