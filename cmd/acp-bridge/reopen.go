package main

import (
	"fmt"
	"os"
	"syscall"
)

// reopen opens the pipe that stream is anew, in a mode in which the runtime
// waits for it. Standard streams block, and a blocked call holds a thread and,
// for a while, a processor that other goroutines could use. The mode belongs to
// the new file alone, not to whoever shares the pipe with us. It is nil for
// what is no pipe or cannot be opened anew: only Linux has such paths.
func reopen(stream any, flag int) *os.File {
	f, ok := stream.(*os.File)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return nil
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return nil
	}
	var anew *os.File
	_ = raw.Control(func(fd uintptr) {
		if f, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), flag|syscall.O_NONBLOCK, 0); err == nil {
			anew = f
		}
	})
	return anew
}
