package claude

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
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
// ends, and brands it. untie must follow when the process is reaped.
func startTied(cmd *exec.Cmd) (own uint64, err error) {
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
	starter.jobs <- func() {
		err := cmd.Start()
		if err == nil {
			own = brand(cmd.Process.Pid) // before it has read its first line
		}
		result <- err
	}
	err = <-result
	if err == nil {
		starter.users++
	} else if starter.users == 0 {
		close(starter.jobs)
	}
	return own, err
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

// rlimitLocks is a limit that Linux has not used since 2.4, but that a process
// still hands down to all that it starts, also to those without an environment.
const rlimitLocks = 10

// brand gives a process a limit that nobody else has, 0 if it cannot be given.
func brand(pid int) uint64 {
	var old syscall.Rlimit
	_, _, errno := syscall.Syscall6(syscall.SYS_PRLIMIT64, uintptr(pid), rlimitLocks, 0, uintptr(unsafe.Pointer(&old)), 0, 0)
	own := syscall.Rlimit{Cur: 1<<62 + rand.Uint64N(1<<62), Max: old.Max}
	if errno != 0 || own.Cur > own.Max {
		return 0
	}
	_, _, errno = syscall.Syscall6(syscall.SYS_PRLIMIT64, uintptr(pid), rlimitLocks, uintptr(unsafe.Pointer(&own)), 0, 0, 0)
	if errno != 0 {
		return 0
	}
	return own.Cur
}

// endMarked ends every process of this user that has mark in its environment, or
// brand among its limits: what a CLI that was killed leaves behind, also in
// sessions of their own.
func endMarked(mark string, brand uint64) {
	const rounds = 10 // one may start another meanwhile
	for range rounds {
		found := false
		entries, _ := os.ReadDir("/proc")
		for _, e := range entries {
			pid, err := strconv.Atoi(e.Name())
			if err != nil || pid == os.Getpid() {
				continue
			}
			if hasMark("/proc/"+e.Name(), mark) || brand != 0 && hasBrand("/proc/"+e.Name(), brand) {
				found = syscall.Kill(pid, syscall.SIGKILL) == nil || found
			}
		}
		if !found {
			return
		}
	}
}

func hasMark(proc, mark string) bool {
	environ, _ := os.ReadFile(proc + "/environ")
	return bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+mark+"\x00"))
}

func hasBrand(proc string, brand uint64) bool {
	limits, _ := os.ReadFile(proc + "/limits")
	_, after, _ := bytes.Cut(limits, []byte("\nMax file locks "))
	fields := bytes.Fields(after)
	return len(fields) > 0 && string(fields[0]) == strconv.FormatUint(brand, 10)
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
