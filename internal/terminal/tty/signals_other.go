//go:build !unix

package tty

import "os"

// changes never signals: here questions are asked in lines.
func changes() (resized, continued <-chan os.Signal, stop func()) { return nil, nil, func() {} }

func stopProcess() bool { return false }

func quiet(uintptr) (loud func()) { return func() {} }

func dropUnread(uintptr) (some, begun bool) { return false, false }
