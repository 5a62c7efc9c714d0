//go:build unix

package main

import (
	"bytes"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A pipe nobody reads does not hold up the start.
func TestLogToAPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(name, 0o600))
	for _, l := range []logOptions{{file: name}, {trace: name}} {
		done := make(chan error, 1)
		go func() {
			_, _, _, err := l.open(streams{Err: &bytes.Buffer{}})
			done <- err
		}()
		require.EqualError(t, <-done, name+" is a pipe, expected a file")
	}
}
