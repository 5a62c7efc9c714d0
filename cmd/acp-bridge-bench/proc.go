package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// cpuTime is what the threads of a process have run so far, without its
// children. Linux counts it in nanoseconds; a thread that has ended is not
// counted any more, and the Go runtime keeps its threads.
func cpuTime(pid int) (time.Duration, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("the CPU time of process %d cannot be read on this system", pid)
	}
	var sum time.Duration
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		first, _, _ := bytes.Cut(data, []byte(" "))
		n, err := strconv.ParseInt(string(first), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		sum += time.Duration(n)
	}
	return sum, nil
}

// resident is the process's resident memory in bytes: its own and the pages of
// its executable that it has touched.
func resident(pid int) (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, fmt.Errorf("the memory of process %d cannot be read on this system", pid)
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(data), &size, &pages); err != nil {
		return 0, err
	}
	return pages * int64(os.Getpagesize()), nil
}
