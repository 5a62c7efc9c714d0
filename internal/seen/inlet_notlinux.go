//go:build !linux

package seen

import "io"

func readable(io.Reader) (wait func(), empty func() bool) { return nil, nil }
