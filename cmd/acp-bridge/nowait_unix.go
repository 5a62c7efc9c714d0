//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// openNoWait keeps a pipe in a file's place from holding up whoever opens it.
const openNoWait = syscall.O_NONBLOCK

// ownSession keeps signals for this process, its group and its terminal from a child.
func ownSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
