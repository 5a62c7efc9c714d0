//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package main

import "os"

// tryLock has no locks here.
func tryLock(*os.File) error { return nil }
