package proc

import (
	"os"
	"os/exec"
	"unsafe"

	"golang.org/x/sys/windows"
)

// tie is a job object: it ends with its last handle, which is this process's, and
// whatever is in it with it.
type tie struct{ job windows.Handle } // 0 if there is none

// start starts cmd in a job of its own.
func start(cmd *exec.Cmd) (*tie, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	t := &tie{}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return t, nil
	}
	if holdsTogether(job) != nil || assign(job, cmd.Process.Pid) != nil {
		_ = windows.CloseHandle(job)
		return t, nil
	}
	t.job = job
	return t, nil
}

func holdsTogether(job windows.Handle) error {
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	return err
}

func assign(job windows.Handle, pid int) error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return err
	}
	defer windows.CloseHandle(process)
	return windows.AssignProcessToJobObject(job, process)
}

func (t *tie) release(bool) {
	if t.job != 0 {
		_ = windows.CloseHandle(t.job)
	}
}

// term is kill: there is no way to ask.
func (t *tie) term(cmd *exec.Cmd) { t.kill(cmd) }

func (t *tie) kill(cmd *exec.Cmd) {
	if t.job != 0 {
		_ = windows.TerminateJobObject(t.job, 1)
		return
	}
	_ = cmd.Process.Kill()
}

func exitSignal(*os.ProcessState) string { return "" }

// awaitExit returns when the process has ended. Here it reaps it too: a later
// Wait returns at once.
func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }

// NoWait does nothing: no file is a pipe.
const NoWait = 0

// OwnSession does nothing: a program is sent no signals.
func OwnSession(*exec.Cmd) {}
