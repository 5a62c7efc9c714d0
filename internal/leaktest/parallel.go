package leaktest

import (
	"flag"
	"os"
	"strconv"
)

// Parallel is for tests that wait for processes, timers and servers most of the time, and do
// not compute: it lets atOnce of those that call t.Parallel wait beside each other. Without
// it there are as many as there are cores, which would be idle. What -parallel says wins.
// Call it in TestMain, before m.Run.
func Parallel(atOnce int) {
	flag.Parse()
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "test.parallel" })
	if !said {
		_ = flag.Set("test.parallel", strconv.Itoa(atOnce))
	}
}

// Often is how often a test repeats what goes wrong rarely: a quarter of times, and all
// of it where ACP_BRIDGE_FLEET is set.
func Often(times int) int {
	if All() {
		return times
	}
	return times / 4
}

// All reports whether a test goes through everything.
func All() bool { return os.Getenv("ACP_BRIDGE_FLEET") != "" }
