package main

import (
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	"github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
	"github.com/acp-bridge/acp-bridge/internal/conn"
)

const replayedSession = "01234567-89ab-4def-8123-456789abcdef"

// replay is a session on disk and the updates that session/load sends for it.
func (g *golden) replay(t *testing.T) {
	home, cwd := t.TempDir(), "/src/app"
	dir := transcript.Dir(filepath.Join(home, ".claude"), cwd)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, replayedSession+".jsonl"), g.section(t, "transcript.jsonl"), 0o600))
	// The session's folder need not exist to be replayed, but the CLI runs in it.
	root := t.TempDir()
	cli := claudetest.New(t, claudetest.Script{})

	agentIn, clientOut := io.Pipe()
	clientIn, agentOut := io.Pipe()
	client := &wireClient{}
	served := make(chan error, 1)
	go func() {
		served <- backend.Serve(t.Context(), agentIn, agentOut, backend.Options{
			Claude: cli.Path, Env: append(os.Environ(), "HOME="+home, "CLAUDE_CONFIG_DIR="),
		})
	}()
	c := conn.New(clientIn, clientOut, client, &conn.Options{Logger: slog.New(slog.DiscardHandler)})
	_, err := c.Initialize(t.Context(), acp.InitializeRequest{ProtocolVersion: 1})
	require.NoError(t, err)
	_, err = c.LoadSession(t.Context(), acp.LoadSessionRequest{SessionId: replayedSession, Cwd: root, McpServers: []acp.McpServer{}})
	require.NoError(t, err)
	clientOut.Close()
	require.NoError(t, <-served)
	agentOut.Close() // the client has read everything when it sees the end
	<-c.Done()
	clientIn.Close()
	c.Close()

	var updates []json.RawMessage
	for _, u := range client.updates {
		if strings.Contains(gjson.GetBytes(u, "update.content.text").Str, "is asked again") {
			break // behind the response, and no part of the replay
		}
		if update := gjson.GetBytes(u, "update"); update.Get("sessionUpdate").Str != "available_commands_update" {
			updates = append(updates, json.RawMessage(update.Raw))
		}
	}
	g.expect(t, "updates.json", marshalAll(t, updates))
}
