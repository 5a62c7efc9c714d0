//go:build unix

package proc

const (
	MarkVariable = markVariable
	AMark        = "4620000000000000001"
)

var WatchScript = watchScript

// HurryWatcher makes the end that follows on a parent's short.
func HurryWatcher() { watchGrace = 3 }

// WatcherPid is the process id of the watcher, while there are children.
func WatcherPid() int {
	ties.Lock()
	defer ties.Unlock()
	return ties.watcher.cmd.Process.Pid
}
