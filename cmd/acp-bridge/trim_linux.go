package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// trimSoon gives back the pages of the program's file that were needed to start and
// to open a session, and are not needed to wait; the kernel maps them again when they
// are. Much of it is for other commands, and an editor keeps an agent running all day.
// Before a session is open it would cost twice: the session needs the same pages.
func trimSoon() (stop func()) {
	t := time.AfterFunc(2*time.Second, trim)
	return func() { t.Stop() }
}

func trim() {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer f.Close()
	var begin, end uintptr
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		switch {
		case strings.HasSuffix(line, exe) && (strings.Contains(line, " r-xp ") || strings.Contains(line, " r--p ")):
			if _, err := fmt.Sscanf(line, "%x-%x", &begin, &end); err != nil || begin >= end {
				begin, end = 0, 0
			}
		case strings.HasPrefix(line, "Anonymous:"):
			// None of its pages was ever written to: the file still has them all.
			if strings.HasSuffix(line, " 0 kB") && end != 0 {
				_, _, _ = unix.Syscall(unix.SYS_MADVISE, begin, end-begin, unix.MADV_DONTNEED)
			}
			begin, end = 0, 0
		}
	}
}
