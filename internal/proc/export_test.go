//go:build unix

package proc

import "strconv"

const MarkVariable = markVariable

// AMark is one that no child has.
var WatchScript, AMark = watchScript, strconv.FormatUint(ownMark*perProcess, 10)

// HurryWatcher makes the end that follows on a parent's short.
func HurryWatcher() { watchGrace = 3 }

// WatcherPid is the process id of the watcher, while there are children.
func WatcherPid() int {
	ties.Lock()
	defer ties.Unlock()
	return ties.watcher.cmd.Process.Pid
}
