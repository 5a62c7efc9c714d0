//go:build unix

package main

import (
	"bytes"
	"path/filepath"
	"syscall"
	"testing"
	"time"

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
		select {
		case err := <-done:
			require.EqualError(t, err, name+" is a pipe, expected a file")
		case <-time.After(patience):
			require.Fail(t, "it waits for a reader")
		}
	}
}
