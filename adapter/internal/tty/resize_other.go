//go:build !unix

package tty

import "os"

// resized never signals: here questions are asked in lines.
func resized() (changed <-chan os.Signal, stop func()) { return nil, func() {} }
