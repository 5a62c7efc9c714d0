// Package paralleltest is for tests that wait for processes, timers and servers most of
// the time, and do not compute.
package paralleltest

import (
	"flag"
	"strconv"
)

// Main lets atOnce tests that call t.Parallel wait beside each other. Without it
// there are as many as there are cores, which would be idle. What -parallel says
// wins. Call it in TestMain, before m.Run.
func Main(atOnce int) {
	flag.Parse()
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "test.parallel" })
	if !said {
		_ = flag.Set("test.parallel", strconv.Itoa(atOnce))
	}
}
