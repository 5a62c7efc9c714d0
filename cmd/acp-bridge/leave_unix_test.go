//go:build unix

package main

import (
	"errors"
	"syscall"
)

// leaveTerminal takes a command of a script off the terminal that the tests
// were started from. One that a script has given a terminal keeps it.
func leaveTerminal() { _, _ = syscall.Setsid() }

// gone reports whether a process has ended.
func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
