//go:build unix

package claudetest

import "syscall"

func leaveGroup() { _, _ = syscall.Setsid() }
