package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// privateDisk makes TestDisk run where it may mount what it likes. Some systems
// give users a namespace and allow nothing there: then it says noMounts.
const (
	privateDisk = "ACP_BRIDGE_TEST_PRIVATE_DISK"
	noMounts    = "no mounts allowed"
)

// A disk that is really full, and one that is really read-only, for root too.
// The test starts itself again in a mount namespace of its own.
func TestDisk(t *testing.T) {
	if os.Getenv(privateDisk) == "" {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestDisk$", "-test.v")
		cmd.Env = append(os.Environ(), privateDisk+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		}
		out, err := cmd.CombinedOutput()
		if cmd.Process == nil {
			t.Skip("SKIPPED: no private file systems here:", err)
		}
		if strings.Contains(string(out), noMounts) {
			t.Skip("SKIPPED: a mount namespace, but no mounts in it")
		}
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "--- PASS: TestDisk/full")
		require.Contains(t, string(out), "--- PASS: TestDisk/read-only")
		return
	}
	for name, kind := range map[string]struct {
		why            string
		broken, mended func(t *testing.T, dir string)
	}{
		"full": {"no space left on device", fill, empty},
		"read-only": {"read-only file system",
			func(t *testing.T, dir string) { remount(t, dir, syscall.MS_RDONLY) },
			func(t *testing.T, dir string) { remount(t, dir, 0) }},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k")
			if errors.Is(err, fs.ErrPermission) {
				t.Skip(noMounts)
			}
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
			t.Chdir(dir)
			d := &disk{T: t, dir: dir, why: kind.why,
				broken: func() { kind.broken(t, dir) }, mended: func() { kind.mended(t, dir) }}
			d.start = func(stdin io.Reader, stdout, stderr io.Writer, args ...string) int {
				return run(t.Context(), args, stdin, stdout, stderr)
			}
			d.lives()
		})
	}
}

// fill leaves room for no byte more.
func fill(t *testing.T, dir string) {
	f, err := os.OpenFile(filepath.Join(dir, "filler"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 512))
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
}

func empty(t *testing.T, dir string) { require.NoError(t, os.Remove(filepath.Join(dir, "filler"))) }

func remount(t *testing.T, dir string, flags uintptr) {
	require.NoError(t, syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|flags, ""))
}
