package claude

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"
)

// The kernel sends the parent-death signal when the thread that started the
// child ends, not the process, and Go ends threads as it likes. So all CLIs
// are started from one thread that lives as long as any of them.
var starter struct {
	sync.Mutex
	users int
	jobs  chan func()
}

// startTied starts cmd so that it does not outlive this process, however that
// ends. untie must follow when the process is reaped.
func startTied(cmd *exec.Cmd) error {
	// SIGTERM, not SIGKILL: the CLI's commands run in sessions of their own and
	// only the CLI itself can end them all.
	cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	starter.Lock()
	defer starter.Unlock()
	if starter.users == 0 {
		starter.jobs = make(chan func())
		go runStarter(starter.jobs)
	}
	result := make(chan error)
	starter.jobs <- func() { result <- cmd.Start() }
	err := <-result
	if err == nil {
		starter.users++
	} else if starter.users == 0 {
		close(starter.jobs)
	}
	return err
}

func untie() {
	starter.Lock()
	defer starter.Unlock()
	starter.users--
	if starter.users == 0 {
		close(starter.jobs)
	}
}

func runStarter(jobs <-chan func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for job := range jobs {
		job()
	}
}

// killTree ends the process, its group, and its descendants in other groups.
func killTree(cmd *exec.Cmd) {
	children := descendants(cmd.Process.Pid, 0)
	killGroup(cmd)
	for _, pid := range children {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// endMarked ends every process of this user that has mark in its environment: what
// a CLI that was killed leaves behind, also in sessions of their own.
func endMarked(mark string) {
	const rounds = 10 // one may start another meanwhile
	for range rounds {
		found := false
		entries, _ := os.ReadDir("/proc")
		for _, e := range entries {
			pid, err := strconv.Atoi(e.Name())
			if err != nil || pid == os.Getpid() {
				continue
			}
			environ, _ := os.ReadFile("/proc/" + e.Name() + "/environ")
			if bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+mark+"\x00")) {
				found = syscall.Kill(pid, syscall.SIGKILL) == nil || found
			}
		}
		if !found {
			return
		}
	}
}

// descendants lists the processes below pid, as far as the kernel tells.
func descendants(pid, depth int) []int {
	const deep = 32
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	tasks, err := os.ReadDir(dir)
	if err != nil || depth > deep {
		return nil
	}
	var pids []int
	for _, task := range tasks {
		list, _ := os.ReadFile(dir + "/" + task.Name() + "/children")
		for _, field := range strings.Fields(string(list)) {
			if child, err := strconv.Atoi(field); err == nil && child > 1 {
				pids = append(pids, child)
				pids = append(pids, descendants(child, depth+1)...)
			}
		}
	}
	return pids
}

// awaitExit returns when the process has ended, without reaping it. It waits
// in the poller: a blocked thread for each of many CLIs costs more than all
// else of a session.
func awaitExit(cmd *exec.Cmd) {
	pid := cmd.Process.Pid
	if pollExit(pid) != nil { // the kernel is older than 5.10
		ended(pid, false)
	}
}

func pollExit(pid int) error {
	const (
		pidfdOpen = 434 // on all architectures
		nonblock  = syscall.O_NONBLOCK
	)
	fd, _, errno := syscall.Syscall(pidfdOpen, uintptr(pid), nonblock, 0)
	if errno != 0 {
		return errno
	}
	f := os.NewFile(fd, "pidfd") // closed on exec by itself
	defer f.Close()
	poll, err := f.SyscallConn()
	if err != nil {
		return err
	}
	return poll.Read(func(uintptr) bool { return ended(pid, true) })
}

// ended reports whether a child has ended, without reaping it. It waits for
// that, unless now is set.
func ended(pid int, now bool) bool {
	const (
		pPID    = 1
		wNoHang = 0x1
		wExited = 0x4
		wNoWait = 0x1000000
	)
	options := uintptr(wExited | wNoWait)
	if now {
		options |= wNoHang
	}
	var info [128]byte // siginfo_t: all zero if it has not ended
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, pPID, uintptr(pid),
			uintptr(unsafe.Pointer(&info)), options, 0, 0)
		if errno != syscall.EINTR {
			return errno != 0 || info != [128]byte{}
		}
	}
}
