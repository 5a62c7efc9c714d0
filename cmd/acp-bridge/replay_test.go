package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	"github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
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

	e := acptest.NewEditor(t, func(ctx context.Context, in io.Reader, out io.Writer) error {
		return backend.Serve(ctx, in, out, backend.Options{Claude: cli.Path, Env: append(os.Environ(), "HOME="+home, "CLAUDE_CONFIG_DIR=")})
	})
	e.Initialize(`{}`)
	e.Call("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, replayedSession, root))

	var updates []json.RawMessage
	for _, u := range e.Updates(replayedSession) {
		if strings.Contains(u.Get("content.text").Str, "is asked again") {
			break // behind the response, and no part of the replay
		}
		if u.Get("sessionUpdate").Str != "available_commands_update" {
			updates = append(updates, json.RawMessage(u.Raw))
		}
	}
	g.expect(t, "updates.json", marshalAll(t, updates))
}
