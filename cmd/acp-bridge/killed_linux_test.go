package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// stubborn is an agent that neither ends with its input nor on a signal, with a
// command in a session of its own.
const stubborn = `trap '' TERM HUP
setsid sh -c 'trap "" TERM HUP; echo $$ >"$0/command.new"; mv "$0/command.new" "$0/command"; while :; do sleep 1000; done' "$0" &
echo $$ >"$0/agent.new"; mv "$0/agent.new" "$0/agent"
while :; do sleep 1000; done`

// A chat, a proxy or a pipe that is killed leaves neither its agent behind nor what
// that has started elsewhere.
func TestKilledLeavesNobody(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"chat":  {"chat", "--plain"},
		"proxy": {"proxy"},
		"rpc":   {"rpc", "--acp"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd := exec.Command(os.Args[0], append(args, "--", "sh", "-c", stubborn, dir)...)
			cmd.Env = append(os.Environ(), asBridge+"=1", "XDG_STATE_HOME="+t.TempDir())
			cmd.Dir = dir
			in := acptest.Must(cmd.StdinPipe())
			out := acptest.Must(cmd.StdoutPipe())
			require.NoError(t, cmd.Start())
			if name == "rpc" {
				promptOnce(t, in, out)
			}
			pids := []int{readPid(t, filepath.Join(dir, "agent")), readPid(t, filepath.Join(dir, "command"))}
			require.NoError(t, cmd.Process.Kill())
			_ = cmd.Wait()
			for _, pid := range pids {
				require.Eventually(t, func() bool {
					stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
					return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || strings.Contains(string(stat), ") Z ")
				}, time.Minute, 5*time.Millisecond, "process %d is still there", pid)
			}
		})
	}
}

// promptOnce has a command of rpc --acp run.
func promptOnce(t *testing.T, in io.Writer, out io.Reader) {
	acptest.Must(io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}
{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}
`))
	id := ""
	for lines := bufio.NewScanner(out); id == "" && lines.Scan(); {
		id = gjson.GetBytes(lines.Bytes(), "result.sessionId").Str
	}
	acptest.Must(fmt.Fprintf(in, `{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"go"}]}}`+"\n", id))
}

func readPid(t *testing.T, file string) (pid int) {
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(file)
		if err == nil {
			pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		return err == nil
	}, time.Minute, 5*time.Millisecond, file)
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	return pid
}
