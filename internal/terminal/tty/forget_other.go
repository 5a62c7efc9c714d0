//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package tty

func forget(uintptr) {}
