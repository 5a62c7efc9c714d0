//go:build unix

package web

import (
	"math"
	"syscall"
)

// openFiles is how many files this process may have open, connections included. Go has
// raised that to what the system allows.
func openFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxInt32
	}
	return int(min(uint64(limit.Cur), math.MaxInt32))
}
