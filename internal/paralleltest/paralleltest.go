// Package paralleltest is for tests that wait for processes, timers and servers most of
// the time, and do not compute.
package paralleltest

import (
	"flag"
	"strconv"
)

// atOnce is how many tests wait beside each other. go test allows as many as there
// are cores, which would be idle.
const atOnce = 8

// Main is called in TestMain, before m.Run. Tests that call t.Parallel then wait
// beside each other. What -parallel says wins.
func Main() {
	flag.Parse()
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "test.parallel" })
	if !said {
		_ = flag.Set("test.parallel", strconv.Itoa(atOnce))
	}
}
