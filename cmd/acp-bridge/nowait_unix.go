//go:build unix

package main

import "syscall"

// openNoWait keeps a pipe in a file's place from holding up whoever opens it.
const openNoWait = syscall.O_NONBLOCK
