//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package pending

import "os"

// tryLock has no locks here. New files still never replace others.
func tryLock(*os.File) error { return nil }
