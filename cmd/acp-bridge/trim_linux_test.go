package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What was needed to start is given back, and read again when it is needed.
func TestTrim(t *testing.T) {
	before := programMemory(t)
	require.Positive(t, before)
	trim()
	require.Less(t, programMemory(t), before)
}

// programMemory is how much of the program's file is in memory, in kB.
func programMemory(t *testing.T) (sum int) {
	exe, err := os.Readlink("/proc/self/exe")
	require.NoError(t, err)
	maps, err := os.ReadFile("/proc/self/smaps")
	require.NoError(t, err)
	ours := false
	for line := range strings.Lines(string(maps)) {
		var kB int
		if strings.Contains(line, "-") && strings.Contains(line, "p ") {
			ours = strings.HasSuffix(strings.TrimSpace(line), exe)
		} else if n, _ := fmt.Sscanf(line, "Rss: %d kB", &kB); n == 1 && ours {
			sum += kB
		}
	}
	return sum
}
