//go:build !race

package leaktest

// Race says whether the race detector runs, and Slower how much it takes.
const (
	Race   = false
	Slower = 1
)
