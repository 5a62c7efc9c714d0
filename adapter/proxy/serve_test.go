//go:build unix

package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// serve runs a shell script as the agent. What it is sent goes to in.
func serve(t *testing.T, script string) (in *os.File, out *acptest.Written, ended chan error) {
	t.Helper()
	r, w := acptest.Must2(os.Pipe())
	t.Cleanup(func() { w.Close(); r.Close() })
	out, ended = &acptest.Written{}, make(chan error, 1)
	go func() {
		ended <- Serve(context.Background(), r, out, Command{Args: []string{"sh", "-c", script}}, Options{CancelGrace: 50 * time.Millisecond})
		w.Close()
	}()
	return w, out, ended
}

// An agent that dies while a child of it holds its output has ended all the same.
func TestAgentLeavesAChild(t *testing.T) {
	in, out, ended := serve(t, `sleep 1000 & read -r line; echo oops >&2; kill -9 $$`)
	acptest.Must(io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`+"\n"))
	err := <-ended
	require.ErrorIs(t, err, errAgentGone)
	require.ErrorContains(t, err, "killed")
	require.ErrorContains(t, err, "oops", "its last words")
	require.Contains(t, out.String(), "oops", "the editor is told")
}

// An agent that does not want to end is ended.
func TestAgentEndsWithTheEditor(t *testing.T) {
	t.Parallel()
	in, _, ended := serve(t, `trap '' TERM; while :; do sleep 1; done`)
	require.NoError(t, in.Close())
	require.NoError(t, <-ended)
}

func TestAgentCannotBeStarted(t *testing.T) {
	err := Serve(context.Background(), strings.NewReader(""), io.Discard, Command{Args: []string{"/does/not/exist"}}, Options{})
	require.ErrorContains(t, err, "could not be started")
	require.Error(t, Serve(context.Background(), strings.NewReader(""), io.Discard, Command{}, Options{}))
}

// A frozen agent keeps nobody: a cancelled prompt ends, and the agent with the
// editor.
func TestAgentFrozen(t *testing.T) {
	t.Parallel()
	in, out, ended := serve(t, `read -r line; kill -STOP $$`)
	acptest.Must(io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`+"\n"+
		`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`+"\n"))
	require.Eventually(t, func() bool { return out.Count(`{"jsonrpc":"2.0","id":1,"result":{"stopReason":"cancelled"}}`) > 0 }, patience, time.Millisecond)
	require.NoError(t, in.Close())
	require.NoError(t, <-ended)
}

// An agent that floods and prints garbage is passed on as far as it speaks.
func TestAgentFloods(t *testing.T) {
	_, out, ended := serve(t, `i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo "garbage $i"; echo '{"jsonrpc":"2.0","method":"x","params":['$i']}'; echo '{"half":'; done; exit 3`)
	require.ErrorContains(t, <-ended, "exit status 3")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 3000)
	for i, line := range lines {
		require.Equal(t, fmt.Sprintf(`{"jsonrpc":"2.0","method":"x","params":[%d]}`, i+1), line)
	}
}

// What an agent said before its end waits for an editor that reads slowly. It is
// less than a pipe holds.
func TestAgentEndsBeforeTheEditorReads(t *testing.T) {
	t.Parallel()
	out, w := io.Pipe()
	in, more := acptest.Must2(os.Pipe())
	defer in.Close()
	defer more.Close()
	file := filepath.Join(t.TempDir(), "pid")
	script := fmt.Sprintf(`line=$(head -c 900 /dev/zero | tr '\0' x); i=0; while [ $i -lt 60 ]; do i=$((i+1)); echo '{"jsonrpc":"2.0","method":"x","params":['$i',"'$line'"]}'; done; echo $$ >%[1]s.new; mv %[1]s.new %[1]s`, file)
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(context.Background(), in, w, Command{Args: []string{"sh", "-c", script}}, Options{})
		w.Close()
	}()
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(file)
		pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil && pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	}, patience, time.Millisecond, "it has said all, and is gone")
	time.Sleep(2 * proc.Grace) // what must not happen needs time to happen
	require.Equal(t, 60, strings.Count(string(acptest.Must(io.ReadAll(out))), "\n"))
	require.ErrorIs(t, <-ended, errAgentGone)
}
