package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

func TestReopen(t *testing.T) {
	blocks := func(f *os.File) bool { // also makes it block if it did not
		flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_GETFL, 0)
		require.Zero(t, errno)
		return flags&syscall.O_NONBLOCK == 0
	}
	r, w := acptest.Must2(os.Pipe())
	defer r.Close()
	defer w.Close()
	require.True(t, blocks(r))
	require.True(t, blocks(w))

	in, out := reopen(r, os.O_RDONLY), reopen(w, os.O_WRONLY)
	require.NotNil(t, in)
	require.NotNil(t, out)
	defer in.Close()
	require.NoError(t, in.SetReadDeadline(time.Unix(1, 0)), "the runtime waits for it")
	require.ErrorIs(t, acptest.Err(in.Read(make([]byte, 1))), os.ErrDeadlineExceeded)
	require.NoError(t, in.SetReadDeadline(time.Time{}))
	flags := func(f *os.File) (mode uintptr) {
		raw := acptest.Must(f.SyscallConn())
		require.NoError(t, raw.Control(func(fd uintptr) { mode, _, _ = syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_GETFL, 0) }))
		return mode
	}
	require.Zero(t, flags(r)&syscall.O_NONBLOCK, "whoever shares the pipe is not affected")
	require.Zero(t, flags(w)&syscall.O_NONBLOCK)

	go func() {
		_, _ = io.WriteString(out, "hello")
		_ = out.Close()
		_ = w.Close()
	}()
	require.Equal(t, "hello", string(acptest.Must(io.ReadAll(in))), "the end of the pipe is seen as before")
}

// A pipe with a name whose writer has gone: opening it must not wait for another.
func TestReopenDoesNotWait(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(name, 0o600))
	r := acptest.Must(os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0))
	defer r.Close()
	require.NoError(t, os.WriteFile(name, []byte("hello"), 0))
	in := reopen(r, os.O_RDONLY)
	require.NotNil(t, in)
	defer in.Close()
	require.Equal(t, "hello", string(acptest.Must(io.ReadAll(in))))
}

func TestReopenIsForPipes(t *testing.T) {
	f := acptest.Must(os.Create(filepath.Join(t.TempDir(), "file")))
	require.Nil(t, reopen(f, os.O_RDONLY))
	require.Nil(t, reopen(strings.NewReader("x"), os.O_RDONLY))
	require.NoError(t, f.Close())
	require.Nil(t, reopen(f, os.O_RDONLY))
}
