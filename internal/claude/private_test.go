//go:build unix

package claude

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// A private file is there for the process that inherits it, has no name, and is
// empty once it is forgotten.
func TestPrivateFiles(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	for _, make := range []func() (*os.File, error){unnamedFile, unlinkedFile} {
		f := acptest.Must(make())
		acptest.Must(f.WriteString("x"))
		require.Empty(t, acptest.Must(os.ReadDir(tmp)))
		require.NoError(t, f.Close())
	}
	p := newPrivateFiles([]PrivateFlag{{"--one", []byte("first")}, {"--two", []byte("second")}})
	require.NoError(t, p.err)
	args := Options{Private: []PrivateFlag{{Flag: "--one"}, {Flag: "--two"}}, Args: []string{"--last"}}.commandLine(p.paths)
	require.Equal(t, []string{"--one", "/dev/fd/3", "--two", "/dev/fd/4", "--last"}, args[len(args)-5:])
	read := func() string {
		cmd := exec.Command("cat", p.paths...)
		cmd.ExtraFiles = p.passed
		return string(acptest.Must(cmd.Output()))
	}
	require.Equal(t, "firstsecond", read())
	kept, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", p.passed[0].Fd()))
	if err == nil { // Linux
		defer kept.Close()
		p.forget()
		require.Zero(t, acptest.Must(kept.Stat()).Size(), "nothing is left for whoever else holds it")
	}
	p.forget()
}

// A file that is swapped for another between the check and the opening, or that
// is another user's, is not followed.
func TestOpenOwn(t *testing.T) {
	dir := t.TempDir()
	file, other := filepath.Join(dir, "file"), filepath.Join(dir, "other")
	root := acptest.Must(os.OpenRoot(dir))
	defer root.Close()
	for name, tc := range map[string]struct {
		uid  int
		swap func() error
		want bool
	}{
		"its own":      {os.Getuid(), func() error { return nil }, true},
		"another's":    {os.Getuid() + 1, func() error { return nil }, false},
		"another file": {os.Getuid(), func() error { return os.Rename(other, file) }, false},
		"a link": {os.Getuid(), func() error {
			return errors.Join(os.Remove(file), os.Symlink("other", file))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			_ = os.Remove(file)
			require.NoError(t, os.WriteFile(file, []byte("file"), 0o600))
			require.NoError(t, os.WriteFile(other, []byte("other"), 0o600))
			f := openOwn(root, "file", tc.uid, func() { require.NoError(t, tc.swap()) })
			require.Equal(t, tc.want, f != nil)
			if f != nil {
				f.Close()
			}
		})
	}
}
