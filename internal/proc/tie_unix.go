//go:build unix

package proc

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// markVariable names, to whatever inherits the environment of a child, the
// children that it descends from: an acp-bridge may be another's child.
const markVariable = "ACP_BRIDGE_CHILD"

// Marks are numbers of 19 digits. The first eleven are this process's, and so
// high that no limit is like that by itself.
const perProcess = 1e8

var ownMark = 46_200_000_000 + rand.Uint64N(46_000_000_000)

// ties is what all children of this process share while there is one.
var ties struct {
	sync.Mutex
	open    map[*tie]bool
	count   uint64
	starter starter
	watcher *watcher
}

// tie is what holds a child, and what it starts, to this process.
type tie struct {
	group int
	mark  uint64 // in the environment of the child and of all that it starts
	brand bool   // the mark is also among their limits
}

// start starts cmd, in a group of its own: Ctrl+C is not for it, and what it
// starts can be ended with it. release must follow when it is reaped.
func start(cmd *exec.Cmd) (*tie, error) {
	ties.Lock()
	defer ties.Unlock()
	ties.count++
	t := &tie{mark: ownMark*perProcess + ties.count%perProcess}
	cmd.Env = append(cmd.Env, markVariable+"="+inherited(cmd.Env)+strconv.FormatUint(t.mark, 10))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// Both before there is anything that could be left behind: we may be killed at once.
	if len(ties.open) == 0 {
		ties.open, ties.watcher = map[*tie]bool{}, startWatcher()
	}
	ties.open[t] = true
	ties.watcher.tell("start", t.mark)
	if err := ties.starter.start(cmd, t); err != nil {
		t.leave()
		return nil, err
	}
	t.group = cmd.Process.Pid
	ties.watcher.tell("group", t.mark, t.group)
	return t, nil
}

// release lets a child go that was reaped, and ends what it started if it was
// ended by force.
func (t *tie) release(forced bool) {
	if forced {
		t.endMarked()
	}
	ties.Lock()
	defer ties.Unlock()
	t.leave()
}

// leave forgets a child. ties are locked.
func (t *tie) leave() {
	ties.watcher.tell("end", t.mark)
	if delete(ties.open, t); len(ties.open) == 0 {
		ties.starter.stop()
		ties.watcher.stop()
		ties.watcher = nil
	}
}

// term asks the child and all of its group to end.
func (t *tie) term(*exec.Cmd) { _ = syscall.Kill(-t.group, syscall.SIGTERM) }

// kill ends the child and all of its group.
func (t *tie) kill(*exec.Cmd) { _ = syscall.Kill(-t.group, syscall.SIGKILL) }

// inherited are the marks in an environment, each with a dot behind it.
func inherited(env []string) (marks string) {
	for _, v := range env {
		if len(v) > len(markVariable) && v[:len(markVariable)+1] == markVariable+"=" {
			marks = v[len(markVariable)+1:] + "."
		}
	}
	return marks
}

func exitSignal(state *os.ProcessState) string {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal().String()
	}
	return ""
}

// watcher is a shell that outlives this process for as long as it takes to end
// its children: the kernel's signal for a parent's death reaches the child alone,
// can be ignored, and exists on Linux only. There is one while there are
// children. Where there is no shell, there is none.
type watcher struct {
	cmd  *exec.Cmd
	pipe *os.File
	// stopped is closed when there is nothing to watch any more.
	stopped chan struct{}
}

//go:embed watch.sh
var watchScript string

// watchGrace is how many tenths of a second it lets them end by themselves.
var watchGrace = 30

func startWatcher() *watcher {
	r, w, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", watchScript, "acp-bridge-watch", markVariable, strconv.Itoa(watchGrace))
	cmd.Dir, cmd.Stdin = "/", r
	cmd.Env = []string{"PATH=" + os.Getenv("PATH") + ":/usr/bin:/bin"} // without a mark
	OwnSession(cmd)
	if cmd.Start() != nil {
		_ = w.Close()
		return nil
	}
	unbrand(cmd.Process.Pid)
	made := &watcher{cmd, w, make(chan struct{})}
	go made.replace(time.Now())
	return made
}

// replace starts another watcher when this one was killed. Where none lives for long, it
// takes its time.
func (w *watcher) replace(began time.Time) {
	_ = w.cmd.Wait()
	select {
	case <-w.stopped:
		return
	case <-time.After(time.Second - time.Since(began)):
	}
	ties.Lock()
	defer ties.Unlock()
	if ties.watcher != w {
		return
	}
	_ = w.pipe.Close()
	ties.watcher = startWatcher()
	for t := range ties.open {
		if ties.watcher.tell("start", t.mark); t.group != 0 {
			ties.watcher.tell("group", t.mark, t.group)
		}
	}
}

func (w *watcher) tell(words ...any) {
	if w != nil {
		_, _ = fmt.Fprintln(w.pipe, words...)
	}
}

// stop ends a watcher that has no children to watch.
func (w *watcher) stop() {
	if w != nil {
		close(w.stopped)
		_ = w.pipe.Close()
	}
}

// NoWait keeps a pipe in a file's place from holding up whoever opens it.
const NoWait = syscall.O_NONBLOCK

// OwnSession keeps signals for this process, its group and its terminal from a child.
func OwnSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
