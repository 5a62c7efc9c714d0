//go:build race

package leaktest

// Race says whether the race detector runs, and Slower how much it takes: times are not
// those of a release, and a sync.Pool gives away a part of what is put into it.
const (
	Race   = true
	Slower = 6
)
