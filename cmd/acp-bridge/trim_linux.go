package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// trimSoon gives back the pages of the program's code that were needed to start
// and are not needed to serve; the kernel reads them again when they are. Much of
// the code is that of other commands, and an editor keeps an agent running all
// day.
func trimSoon() (stop func()) {
	first := time.AfterFunc(50*time.Millisecond, trim)
	second := time.AfterFunc(2*time.Second, trim)
	return func() {
		first.Stop()
		second.Stop()
	}
}

func trim() {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var begin, end uintptr
		// Code alone: nothing writes to it, so that the file still has it all.
		if line := lines.Text(); strings.HasSuffix(line, exe) && strings.Contains(line, " r-xp ") {
			if _, err := fmt.Sscanf(line, "%x-%x", &begin, &end); err == nil && begin < end {
				_, _, _ = unix.Syscall(unix.SYS_MADVISE, begin, end-begin, unix.MADV_DONTNEED)
			}
		}
	}
}
