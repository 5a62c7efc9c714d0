package proc

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

// starter is one thread that starts all children and lives as long as any of
// them: the kernel sends the parent-death signal when the thread that started the
// child ends, not the process, and Go ends threads as it likes.
type starter struct{ jobs chan func() }

// start starts cmd so that it ends with this process, and brands it.
func (s *starter) start(cmd *exec.Cmd, t *tie) error {
	// SIGTERM, not SIGKILL: a child that can end its own commands does it best.
	cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	if s.jobs == nil {
		s.jobs = make(chan func())
		go runStarter(s.jobs)
	}
	result := make(chan error)
	s.jobs <- func() {
		err := cmd.Start()
		if err == nil {
			t.brand = brand(cmd.Process.Pid, t.mark) // before it has read its first line
		}
		result <- err
	}
	return <-result
}

func (s *starter) stop() {
	close(s.jobs)
	s.jobs = nil
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

// brand gives a process a limit that nobody else has, and reports whether that
// could be done.
func brand(pid int, mark uint64) bool {
	var old syscall.Rlimit
	_, _, errno := syscall.Syscall6(syscall.SYS_PRLIMIT64, uintptr(pid), rlimitLocks, 0, uintptr(unsafe.Pointer(&old)), 0, 0)
	own := syscall.Rlimit{Cur: mark, Max: old.Max}
	if errno != 0 || own.Cur > own.Max {
		return false
	}
	_, _, errno = syscall.Syscall6(syscall.SYS_PRLIMIT64, uintptr(pid), rlimitLocks, uintptr(unsafe.Pointer(&own)), 0, 0, 0)
	return errno == 0
}

// unbrand takes the limit away that a process has inherited, if this process is
// itself a child of another acp-bridge.
func unbrand(pid int) { brand(pid, ^uint64(0)) }

// endMarked ends every process of this user that has the mark in its environment
// or among its limits: what the child leaves behind, also in sessions of their
// own.
func (t *tie) endMarked() {
	mark := []byte(strconv.FormatUint(t.mark, 10))
	const rounds = 10 // one may start another meanwhile
	for range rounds {
		found := false
		entries, _ := os.ReadDir("/proc")
		for _, e := range entries {
			pid, err := strconv.Atoi(e.Name())
			if err != nil || pid == os.Getpid() {
				continue
			}
			if hasMark("/proc/"+e.Name(), mark) || t.brand && hasBrand("/proc/"+e.Name(), mark) {
				found = syscall.Kill(pid, syscall.SIGKILL) == nil || found
			}
		}
		if !found {
			return
		}
	}
}

func hasMark(proc string, mark []byte) bool {
	environ, _ := os.ReadFile(proc + "/environ")
	_, after, ok := bytes.Cut(append([]byte{0}, environ...), []byte("\x00"+markVariable+"="))
	marks, _, _ := bytes.Cut(after, []byte{0})
	return ok && bytes.Contains(marks, mark)
}

func hasBrand(proc string, mark []byte) bool {
	limits, _ := os.ReadFile(proc + "/limits")
	_, after, _ := bytes.Cut(limits, []byte("\nMax file locks "))
	fields := bytes.Fields(after)
	return len(fields) > 0 && bytes.Equal(fields[0], mark)
}

// awaitExit returns when the process has ended, without reaping it. It waits
// in the poller: a blocked thread for each of many children costs more than all
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
