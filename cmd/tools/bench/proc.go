package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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

// hostTime is how much CPU time of the machine was spent since it started, and how
// much of that its host gave to others.
func hostTime() (stolen, all int64, err error) {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, err
	}
	line, _, _ := strings.Cut(string(data), "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, 0, fmt.Errorf("/proc/stat: expected the times of all CPUs, got %q", line)
	}
	for i, field := range fields[1:9] { // what follows is part of these
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("/proc/stat: %w", err)
		}
		if all += n; i == 7 {
			stolen = n
		}
	}
	return stolen, all, nil
}

// diskTimes is how long the disk takes to keep a small write, some times.
func diskTimes(dir string) (times []time.Duration, err error) {
	f, err := os.CreateTemp(dir, "disk-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	value := make([]byte, 1000)
	for range 200 {
		begin := time.Now()
		if _, err := f.Write(value); err != nil {
			return nil, err
		}
		if err := f.Sync(); err != nil {
			return nil, err
		}
		times = append(times, time.Since(begin))
	}
	return times, nil
}

// footprint is a process's memory in bytes.
type footprint struct {
	// resident is what is in memory now: its own, and the pages of its executable
	// that it has touched, which all processes of it share.
	resident int64
	// private is what nobody else can have: a second process like it costs that.
	private int64
}

func footprintOf(pid int) (f footprint, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return f, fmt.Errorf("the memory of process %d cannot be read on this system", pid)
	}
	for name, to := range map[string]*int64{"VmRSS": &f.resident, "RssAnon": &f.private} {
		_, after, _ := strings.Cut(string(data), "\n"+name+":")
		if _, err := fmt.Sscanf(after, "%d kB", to); err != nil {
			return f, fmt.Errorf("/proc/%d/status: expected %s: %w", pid, name, err)
		}
		*to *= 1024
	}
	return f, nil
}

// footprints are samples of them, in MB.
type footprints struct{ resident, private samples }

func newFootprints() footprints { return footprints{samples{}, samples{}} }

func (s footprints) add(name string, f footprint) {
	s.resident.add(name, mb(f.resident))
	s.private.add(name, mb(f.private))
}

// rows adds them to a table.
func (s footprints) rows(t *table, name string, rules ...rule) {
	t.add("memory, "+name, "MB", minimal, s.resident, rules...)
	t.add("… private, "+name, "MB", minimal, s.private)
}

func resident(pid int) (int64, error) {
	f, err := footprintOf(pid)
	return f.resident, err
}
