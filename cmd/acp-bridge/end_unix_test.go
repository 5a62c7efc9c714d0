//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
)

// silent is an editor whose user has not answered yet. It tells what it is asked,
// and what is said in the conversation.
type silent chan string

func (e silent) Request(ctx context.Context, method string, params json.RawMessage) (any, error) {
	e <- string(params)
	<-ctx.Done()
	return nil, ctx.Err()
}

func (e silent) Notify(_ context.Context, _ string, params json.RawMessage) { e <- string(params) }

// sees waits until the editor was asked or told something.
func (e silent) sees(t *testing.T, what string) {
	t.Helper()
	for !strings.Contains(acptest.Next(t, e), what) {
	}
}

// endings are the ways in which acp-bridge ends while a question is open, and what
// the CLI then writes down of the question.
var endings = map[string]struct {
	end   func(*bridge)
	wrote string
}{
	"stdin closed": {func(b *bridge) { b.stdin.Close() }, rejected},
	"SIGTERM":      {signalled(syscall.SIGTERM), rejected},
	"SIGHUP":       {signalled(syscall.SIGHUP), rejected},
	"SIGINT":       {signalled(syscall.SIGINT), rejected},
	"SIGKILL":      {signalled(syscall.SIGKILL), interrupted},
}

func signalled(s syscall.Signal) func(*bridge) {
	return func(b *bridge) { require.NoError(b.t, b.cmd.Process.Signal(s)) }
}

const (
	prompted    = `{"parentUuid":null,"type":"user","message":{"role":"user","content":"ask"},"uuid":"u1"}`
	askedOf     = `{"parentUuid":"u1","type":"assistant","message":{"id":"msg_1","model":"m","content":[{"type":"tool_use","id":"toolu_1","name":"AskUserQuestion","input":%s}]},"uuid":"a1"}`
	rejected    = `{"parentUuid":"a1","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":true,"content":"no"}]},"toolUseResult":"User rejected tool use","toolDenialKind":"user-rejected","uuid":"t1"}`
	interrupted = `{"parentUuid":"a1","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":true,"content":"no"}]},"toolDenialKind":"interrupted","uuid":"t1"}`
)

// A question that is open when acp-bridge ends, however it ends, is asked again
// when the session is loaded, whether it was asked as a request or as a message.
func TestOpenQuestionOutlivesTheBridge(t *testing.T) {
	t.Parallel()
	call := claudetest.Question("toolu_1", claudetest.Q("Which database?", "Database", false, "PostgreSQL", "SQLite"))
	script := claudetest.Script{Turns: []claudetest.Turn{{Steps: []claudetest.Step{claudetest.Message(call)}}}}
	for name, ending := range endings {
		for _, rung := range []string{"permission", "message"} {
			t.Run(name+" "+rung, func(t *testing.T) {
				t.Parallel()
				home, dir, editor := t.TempDir(), t.TempDir(), make(silent, 100)
				env := []string{"HOME=" + home, "XDG_STATE_HOME=" + home, "CLAUDE_CONFIG_DIR="}
				cli := claudetest.New(t, script)
				b := joinBridge(t, cli, editor, env, "--ask", rung)
				acptest.Must(b.conn.Initialize(t.Context(), acp.InitializeRequest{ProtocolVersion: 1}))
				s := acptest.Must(b.conn.NewSession(t.Context(), acp.NewSessionRequest{Cwd: dir, McpServers: []acp.McpServer{}}))
				go b.conn.Prompt(context.Background(), acp.PromptRequest{SessionId: s.SessionId, Prompt: []acp.ContentBlock{acp.TextBlock("ask")}})
				editor.sees(t, "Which database?")
				if rung == "message" {
					editor.sees(t, "1. PostgreSQL")
				}
				ending.end(b)
				awaitGone(t, cli.Starts()[0].Pid)
				_ = b.cmd.Wait()

				folder := transcript.Dir(filepath.Join(home, ".claude"), dir)
				require.NoError(t, os.MkdirAll(folder, 0o755))
				lines := strings.Join([]string{prompted, fmt.Sprintf(askedOf, call.Input), ending.wrote}, "\n") + "\n"
				require.NoError(t, os.WriteFile(filepath.Join(folder, string(s.SessionId)+".jsonl"), []byte(lines), 0o600))

				editor = make(silent, 100)
				b = joinBridge(t, cli, editor, env, "--ask", rung)
				acptest.Must(b.conn.Initialize(t.Context(), acp.InitializeRequest{ProtocolVersion: 1}))
				response := acptest.Must(b.conn.LoadSession(t.Context(), acp.LoadSessionRequest{SessionId: s.SessionId, Cwd: dir, McpServers: []acp.McpServer{}}))
				require.Contains(t, fmt.Sprint(response.Meta["acp-bridge"]), "toolu_1")
				editor.sees(t, "asked again")
				editor.sees(t, "Which database?")
			})
		}
	}
}

// A program that runs in our place gets the signals that are for it, and its exit code is ours.
func TestInPlace(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		r, w := io.Pipe()
		cmd := exec.Command("sh", "-c", `trap "exit 7" TERM HUP; trap "exit 8" INT; echo ready; while :; do sleep 0.01; done`)
		ended := make(chan error, 1)
		go func() { ended <- inPlace(cmd, streams{Out: w}, syscall.SIGTERM, syscall.SIGHUP) }()
		acptest.Must(r.Read(make([]byte, 16)))
		for _, s := range []syscall.Signal{syscall.SIGINT, sig} { // the first one is not for it
			require.NoError(t, syscall.Kill(os.Getpid(), s))
		}
		require.Equal(t, cli.Exit{Code: 7}, <-ended)
	}
}
