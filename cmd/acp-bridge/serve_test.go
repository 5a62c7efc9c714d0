package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
	"github.com/acp-bridge/acp-bridge/internal/conn"
)

// bridge is a running acp-bridge process.
type bridge struct {
	t      *testing.T
	cmd    *exec.Cmd
	conn   *conn.Conn
	stdin  io.Closer
	stderr bytes.Buffer
	cli    *claudetest.CLI
}

func startBridge(t *testing.T, script claudetest.Script, args ...string) *bridge {
	return joinBridge(t, claudetest.New(t, script), nil, nil, args...)
}

// joinBridge is startBridge with an editor that takes requests, and more of an
// environment.
func joinBridge(t *testing.T, cli *claudetest.CLI, editor conn.Handler, env []string, args ...string) *bridge {
	self := acptest.Must(os.Executable())
	b := &bridge{t: t, cli: cli}
	b.cmd = exec.Command(self, append([]string{"--claude", b.cli.Path}, args...)...)
	b.cmd.Env = append(os.Environ(), asBridge+"=1", "ANTHROPIC_API_KEY=sk-very-secret-key")
	b.cmd.Env = append(b.cmd.Env, env...)
	b.cmd.Stderr = &b.stderr
	in := acptest.Must(b.cmd.StdinPipe())
	out := acptest.Must(b.cmd.StdoutPipe())
	require.NoError(t, b.cmd.Start())
	b.stdin = in
	b.conn = conn.New(out, in, editor, &conn.Options{Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() {
		_ = b.cmd.Process.Kill()
		_ = b.cmd.Wait()
		b.conn.Close()
	})
	return b
}

// session opens a session and returns it with the CLI's process id.
func (b *bridge) session() (id string, pid int) {
	acptest.Must(b.conn.Initialize(b.t.Context(), acp.InitializeRequest{ProtocolVersion: 1}))
	s := acptest.Must(b.conn.NewSession(b.t.Context(), acp.NewSessionRequest{Cwd: b.t.TempDir(), McpServers: []acp.McpServer{}}))
	return string(s.SessionId), b.cli.Starts()[0].Pid
}

func awaitGone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(patience); !gone(pid); time.Sleep(5 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "Claude Code outlives acp-bridge")
	}
}

// However acp-bridge ends, Claude Code ends too.
func TestClaudeDoesNotOutliveTheBridge(t *testing.T) {
	t.Parallel()
	hang := claudetest.Script{Turns: []claudetest.Turn{{Steps: []claudetest.Step{claudetest.Hang()}}}}
	for name, end := range map[string]func(*bridge){
		"stdin closed": func(b *bridge) { b.stdin.Close() },
		"SIGTERM":      func(b *bridge) { require.NoError(b.t, b.cmd.Process.Signal(syscall.SIGTERM)) },
		"SIGINT":       func(b *bridge) { require.NoError(b.t, b.cmd.Process.Signal(syscall.SIGINT)) },
		"SIGKILL":      func(b *bridge) { require.NoError(b.t, b.cmd.Process.Kill()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := startBridge(t, hang)
			s, pid := b.session()
			go b.conn.Prompt(context.Background(), acp.PromptRequest{SessionId: acp.SessionId(s), Prompt: []acp.ContentBlock{acp.TextBlock("hi")}})
			b.cli.Await("the prompt", func([]claudetest.Line) bool { return len(b.cli.Prompts()) == 1 })
			require.False(t, gone(pid))
			end(b)
			awaitGone(t, pid)
			if name == "stdin closed" {
				require.NoError(t, b.cmd.Wait(), b.stderr.String())
				require.Empty(t, b.stderr.String())
			}
		})
	}
}

func TestTrace(t *testing.T) {
	t.Parallel()
	trace := filepath.Join(t.TempDir(), "trace.ndjson")
	log := filepath.Join(t.TempDir(), "log.txt")
	b := startBridge(t, claudetest.Script{}, "--trace", trace, "--log-file", log, "--log-level", "debug", "--", "--model", "haiku")
	s, _ := b.session()
	acptest.Must(b.conn.Prompt(t.Context(), acp.PromptRequest{SessionId: acp.SessionId(s), Prompt: []acp.ContentBlock{acp.TextBlock("the key is sk-very-secret-key")}}))
	b.stdin.Close()
	require.NoError(t, b.cmd.Wait())
	require.Contains(t, strings.Join(b.cli.Starts()[0].Args, " "), "--model haiku")

	info := acptest.Must(os.Stat(trace))
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	data := acptest.Must(os.ReadFile(trace))
	require.NotContains(t, string(data), "sk-very-secret-key")
	wires := map[string]int{}
	for line := range strings.Lines(string(data)) {
		require.True(t, json.Valid([]byte(line)), line)
		l := gjson.Parse(line)
		acptest.Must(time.Parse(time.RFC3339Nano, l.Get("time").Str))
		wires[l.Get("wire").Str+" "+l.Get("dir").Str]++
	}
	for _, wire := range []string{"editor in", "editor out", s + " in", s + " out"} {
		require.NotZero(t, wires[wire], "%s: %v", wire, wires)
	}
	logged := acptest.Must(os.ReadFile(log))
	require.Contains(t, string(logged), "how questions are asked")
	require.NotContains(t, string(logged), "sk-very-secret-key")
}
