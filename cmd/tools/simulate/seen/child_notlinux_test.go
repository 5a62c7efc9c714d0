//go:build !linux

package seen_test

func asChild() {}
