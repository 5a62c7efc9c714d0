//go:build !unix

package web

import "math"

// openFiles is how many files this process may have open: there is no limit.
func openFiles() int { return math.MaxInt32 }
