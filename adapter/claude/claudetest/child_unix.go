//go:build unix

package claudetest

import "syscall"

func leaveGroup() { _, _ = syscall.Setsid() }

// closeStdin does not wait for the read that runs.
func closeStdin() { _ = syscall.Close(0) }
