//go:build unix

package client_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/terminal/client"
)

// An agent that neither ends with its input nor on a signal is ended all the
// same, and what it started with it.
func TestAgentEndsWithTheClient(t *testing.T) {
	t.Parallel()
	pids := filepath.Join(t.TempDir(), "pids")
	in, typed := acptest.Must2(os.Pipe())
	defer in.Close()
	out := &strings.Builder{}
	script := `trap '' TERM; sleep 1000 & echo $! $$ >"$0.new"; mv "$0.new" "$0"
		read r; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
		read r; echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'
		while :; do sleep 0.1; done`
	done := make(chan error, 1)
	go func() {
		done <- client.RunAgent(t.Context(), []string{"sh", "-c", script, pids}, client.Options{In: in, Out: out, Plain: true, Dir: t.TempDir()})
	}()
	var list []string
	require.Eventually(t, func() bool {
		text, _ := os.ReadFile(pids)
		list = strings.Fields(string(text))
		return len(list) == 2
	}, patience, 5*time.Millisecond)
	typed.Close()
	require.NoError(t, acptest.Next(t, done))
	for _, text := range list {
		pid := acptest.Must(strconv.Atoi(text))
		require.Eventually(t, func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || zombie(text) }, patience, 5*time.Millisecond)
	}
}

// zombie reports a process that has ended and that nobody has asked about.
func zombie(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func TestAgentFails(t *testing.T) {
	var errOut strings.Builder
	require.EqualError(t, client.RunAgent(t.Context(), []string{"sh", "-c", `i=0; while [ $i -lt 30 ]; do i=$((i+1)); echo "line $i" >&2; done; printf 'no \033[2Jend' >&2; exit 7`},
		client.Options{In: strings.NewReader(""), Out: &strings.Builder{}, Err: &errOut, Plain: true, Dir: t.TempDir()}), "the agent sh ended: exit status 7")
	require.Equal(t, 10, strings.Count(errOut.String(), "\n"))
	require.True(t, strings.HasSuffix(errOut.String(), "sh: line 30\nsh: no end\n"), errOut.String())
}

// What an agent says on its standard error when the client leaves it, because nobody
// could be asked, is not shown: it is not the agent that failed.
func TestAgentIsLeft(t *testing.T) {
	script := `echo "level=WARN msg=rung" >&2
		read r; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
		read r; echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'
		read r; echo '{"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t","title":"make"},"options":[{"optionId":"a","name":"Allow","kind":"allow_once"}]}}'
		read r`
	var errOut strings.Builder
	require.ErrorIs(t, client.RunAgent(t.Context(), []string{"sh", "-c", script}, client.Options{Out: &strings.Builder{}, Err: &errOut, Plain: true, Once: true,
		Prompt: "go", Dir: t.TempDir(), Resolver: adapter.Static{Err: convert.ErrDisconnected}}), convert.ErrDisconnected)
	require.Empty(t, errOut.String())
}
