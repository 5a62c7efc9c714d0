//go:build unix

package claude

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// A private file is there for the process that inherits it, has no name, and is
// empty once it is forgotten.
func TestPrivateFiles(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	for _, make := range []func() (*os.File, error){unnamedFile, unlinkedFile} {
		f, err := make()
		require.NoError(t, err)
		_, err = f.WriteString("x")
		require.NoError(t, err)
		left, err := os.ReadDir(tmp)
		require.NoError(t, err)
		require.Empty(t, left)
		require.NoError(t, f.Close())
	}
	p := newPrivateFiles([]PrivateFlag{{"--one", []byte("first")}, {"--two", []byte("second")}})
	require.NoError(t, p.err)
	args := Options{Private: []PrivateFlag{{Flag: "--one"}, {Flag: "--two"}}, Args: []string{"--last"}}.commandLine(p.paths)
	require.Equal(t, []string{"--one", "/dev/fd/3", "--two", "/dev/fd/4", "--last"}, args[len(args)-5:])
	read := func() string {
		cmd := exec.Command("cat", p.paths...)
		cmd.ExtraFiles = p.passed
		out, err := cmd.Output()
		require.NoError(t, err)
		return string(out)
	}
	require.Equal(t, "firstsecond", read())
	kept, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", p.passed[0].Fd()))
	if err == nil { // Linux
		defer kept.Close()
		p.forget()
		info, err := kept.Stat()
		require.NoError(t, err)
		require.Zero(t, info.Size(), "nothing is left for whoever else holds it")
	}
	p.forget()
}
