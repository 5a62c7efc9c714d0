//go:build unix

package main

import "syscall"

// leaveTerminal takes a command of a script off the terminal that the tests
// were started from. One that a script has given a terminal keeps it.
func leaveTerminal() { _, _ = syscall.Setsid() }
