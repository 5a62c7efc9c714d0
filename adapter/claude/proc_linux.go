package claude

import (
	"errors"
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

// awaitExit returns when the process has ended, without reaping it.
func awaitExit(cmd *exec.Cmd) {
	const (
		pPID    = 1
		wExited = 0x4
		wNoWait = 0x1000000
	)
	var info [128]byte // siginfo_t
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, pPID, uintptr(cmd.Process.Pid),
			uintptr(unsafe.Pointer(&info)), wExited|wNoWait, 0, 0)
		if !errors.Is(errno, syscall.EINTR) || errno == 0 {
			return
		}
	}
}
