//go:build unix

package claude_test

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude"
)

// taskFolder makes the folder in which the CLI keeps a session's tasks.
func taskFolder(t *testing.T, session string) (tmp, tasks string) {
	t.Helper()
	tmp = t.TempDir()
	tasks = filepath.Join(tmp, "claude-"+strconv.Itoa(os.Getuid()), "-src-app", session, "tasks")
	require.NoError(t, os.MkdirAll(tasks, 0o700))
	return tmp, tasks
}

func env(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func TestOpenOutput(t *testing.T) {
	tmp, tasks := taskFolder(t, "s-1")
	require.NoError(t, os.WriteFile(filepath.Join(tasks, "b1.output"), []byte("hello"), 0o600))
	for _, variable := range []string{"CLAUDE_CODE_TMPDIR", "TMPDIR", "TMP", "TEMP"} {
		f, err := claude.OpenOutput(env(map[string]string{variable: tmp}), []string{"", "other", "s-1"}, "b1")
		require.NoError(t, err, variable)
		text := acptest.Must(io.ReadAll(f))
		require.NoError(t, f.Close())
		require.Equal(t, "hello", string(text))
	}
	other := map[string]string{"CLAUDE_CODE_TMPDIR": t.TempDir(), "TMPDIR": tmp}
	require.Error(t, acptest.Err(claude.OpenOutput(env(other), []string{"s-1"}, "b1")), "the CLI's own variable counts most")
}

// TestOpenOutputRefuses is about ids and files that are not what they should be.
func TestOpenOutputRefuses(t *testing.T) {
	tmp, tasks := taskFolder(t, "s-1")
	secret := filepath.Join(tmp, "secret.output")
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(tasks, "real.output"), []byte("real"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(tasks, ".output"), []byte("unnamed"), 0o600))
	require.NoError(t, os.Symlink(secret, filepath.Join(tasks, "link.output")))
	require.NoError(t, os.Symlink("real.output", filepath.Join(tasks, "inner.output")))
	require.NoError(t, os.Mkdir(filepath.Join(tasks, "folder.output"), 0o700))
	require.NoError(t, syscall.Mkfifo(filepath.Join(tasks, "pipe.output"), 0o600))
	up := "../../../../secret"
	for _, task := range []string{"", ".", "..", up, "../tasks/real", "a/b", `a\b`, "real\x00", "re*l", "real.output/../real", "link", "inner", "folder", "pipe", "missing", "réal", strings.Repeat("a", 300)} {
		f, err := claude.OpenOutput(env(map[string]string{"TMPDIR": tmp}), []string{"s-1"}, task)
		require.Error(t, err, "%q", task)
		require.Nil(t, f, "%q", task)
	}
	for _, session := range []string{"", ".", "..", "../-src-app/s-1", "s-1/tasks/..", "*"} {
		require.Error(t, acptest.Err(claude.OpenOutput(env(map[string]string{"TMPDIR": tmp}), []string{session}, "real")), "%q", session)
	}
	linked := t.TempDir()
	name := "claude-" + strconv.Itoa(os.Getuid())
	require.NoError(t, os.Symlink(filepath.Join(tmp, name), filepath.Join(linked, name)))
	require.Error(t, acptest.Err(claude.OpenOutput(env(map[string]string{"TMPDIR": linked}), []string{"s-1"}, "real")), "a folder that is a link")
}
