//go:build !unix

// Package group ends a program with all that it started.
package group

import "os/exec"

// Set does nothing: there are no groups here.
func Set(*exec.Cmd) {}

// Term ends the program.
func Term(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// Kill ends the program.
func Kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
