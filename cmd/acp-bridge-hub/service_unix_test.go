//go:build unix

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// indented returns the lines of help operate that follow a line and are indented,
// as an operator would copy them.
func indented(t *testing.T, after string) (text string) {
	t.Helper()
	_, rest, ok := strings.Cut(operate, after+"\n")
	require.True(t, ok, after)
	for line := range strings.Lines(rest) {
		inside, ok := strings.CutPrefix(line, "  ")
		if !ok {
			break
		}
		text += inside
	}
	require.NotEmpty(t, text)
	return text
}

// The unit is one that systemd takes without a word.
func TestSystemdUnit(t *testing.T) {
	unit := indented(t, "systemd, /etc/systemd/system/acp-bridge-hub.service:")
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze")
	}
	verify := func(unit string) (about string) {
		name := filepath.Join(t.TempDir(), "acp-bridge-hub.service")
		unit = strings.Replace(unit, "/usr/local/bin/acp-bridge-hub", os.Args[0], 1)
		require.NoError(t, os.WriteFile(name, []byte(unit), 0o600))
		out, _ := exec.Command(analyze, "verify", "--man=no", name).CombinedOutput() // other units may be wrong, too
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, "acp-bridge-hub.service") {
				about += line
			}
		}
		return about
	}
	if verify("[Service]\nNonsense=yes\n") == "" {
		t.Skip("systemd-analyze says nothing here")
	}
	require.Empty(t, verify(unit))
}

// Who is root changes nothing in the folder of a hub of another user while that
// does not run: it could not read it any more. While it runs, it is asked.
func TestFolderOfAnother(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can write there")
	}
	dir := t.TempDir()
	require.NoError(t, os.Chown(dir, 1000, 1000))
	var errOut bytes.Buffer
	add := func(name string) int {
		errOut.Reset()
		return run(t.Context(), []string{"device", "add", name, "--data", dir}, io.Discard, &errOut)
	}
	require.Equal(t, exitFailed, add("phone"))
	require.Contains(t, errOut.String(), "belongs to user 1000, not to 0: start the hub first, or do this as that user")
	require.Empty(t, acptest.Must(os.ReadDir(dir)))

	p := startHub(t, dir, "127.0.0.1:0")
	require.Equal(t, exitOK, add("phone"), errOut.String())
	p.kill()
	before := acptest.Must(os.ReadFile(filepath.Join(dir, accessName)))
	require.Equal(t, exitFailed, add("tablet"))
	require.Equal(t, string(before), string(acptest.Must(os.ReadFile(filepath.Join(dir, accessName)))))
}

// The commands of a machine find the owner's token where the hub was told that it
// is, and make none.
func TestCommandsFindTheToken(t *testing.T) {
	t.Parallel()
	dir, token := t.TempDir(), filepath.Join(t.TempDir(), "owner.token")
	require.NoError(t, os.WriteFile(token, []byte("the-owner-of-all-hubs\n"), 0o600))
	p := startHub(t, dir, "127.0.0.1:0", "--token-file", token)
	var out, errOut bytes.Buffer
	require.Equal(t, exitOK, run(t.Context(), []string{"status", "--data", dir}, &out, &errOut), errOut.String())
	require.Equal(t, exitOK, run(t.Context(), []string{"device", "list", "--data", dir}, &out, &errOut), errOut.String())
	require.NoFileExists(t, filepath.Join(dir, "token"))
	require.NoError(t, os.Remove(token))
	require.Equal(t, exitFailed, run(t.Context(), []string{"status", "--data", dir}, &out, &errOut))
	require.NoFileExists(t, token)
	require.NoFileExists(t, filepath.Join(dir, "token"))
	p.kill()
}
