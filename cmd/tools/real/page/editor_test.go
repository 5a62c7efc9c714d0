//go:build unix

package page_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/browser"
	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/terminals"
	"github.com/acp-bridge/acp-bridge/internal/conn"
	"github.com/acp-bridge/acp-bridge/internal/watch/watchtest"
)

type object = map[string]any

// person is at the hub's page.
type person struct{ *browser.Page }

// editing is an editor whose user looks elsewhere: it answers nothing.
type editing struct {
	t            *testing.T
	dir, session string
	conn         *conn.Conn
}

// edits starts acp-bridge for an editor, in a folder and beside the hub.
func edits(t *testing.T, s *watchtest.Site, dir string, env []string, args ...string) *editing {
	t.Helper()
	program, err := terminals.Program()
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(dir, 0o700))
	hub := []string{"--hub", s.URL, "--hub-token-file", terminals.TokenFile(t, s)}
	if args[0] == "proxy" {
		args = append(append([]string{"proxy"}, hub...), args[1:]...)
	} else {
		args = append(hub, args...)
	}
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = dir, append(env, "XDG_STATE_HOME="+tempDir(t))
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	e := &editing{t: t, dir: dir, conn: conn.New(out, in, looksElsewhere{}, nil)}
	t.Cleanup(func() {
		in.Close()
		_, _ = cmd.Process.Wait()
		e.conn.Close()
	})
	e.call("initialize", object{"protocolVersion": 1, "clientCapabilities": object{}, "clientInfo": object{"name": "a test", "version": "1"}})
	return e
}

func (e *editing) call(method string, params object) gjson.Result {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), watchtest.Patience)
	defer cancel()
	result, err := e.conn.Call(ctx, method, params)
	require.NoError(e.t, err, method)
	return gjson.ParseBytes(result)
}

// open opens a session with MCP servers.
func (e *editing) open(servers ...object) {
	e.t.Helper()
	e.session = e.call("session/new", object{"cwd": e.dir, "mcpServers": append([]object{}, servers...)}).Get("sessionId").Str
	require.NotEmpty(e.t, e.session)
}

// prompt begins a turn, and returns what waits for its end.
func (e *editing) prompt(text string) func() {
	ended := make(chan error, 1)
	var reason string
	go func() {
		result, err := e.conn.Call(e.t.Context(), "session/prompt", object{"sessionId": e.session, "prompt": []object{{"type": "text", "text": text}}})
		reason = gjson.GetBytes(result, "stopReason").Str
		ended <- err
	}()
	return func() {
		e.t.Helper()
		require.NoError(e.t, <-ended)
		require.Equal(e.t, "end_turn", reason)
	}
}

type looksElsewhere struct{}

func (looksElsewhere) Request(ctx context.Context, _ string, _ json.RawMessage) (any, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
func (looksElsewhere) Notify(context.Context, string, json.RawMessage) {}
