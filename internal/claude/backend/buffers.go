package backend

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/claude/hook"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// The CLI reads files from disk. What the user has typed and not saved is in
// the editor: after each read the CLI calls back here, and the model is told
// what the editor has where that differs.

const (
	hookCallback = "hook_callback"
	readHook     = "acp-bridge-read"
	// bufferTime bounds how long a read waits for the editor.
	bufferTime = 5 * time.Second
	// maxBuffer is the largest buffer that the model gets.
	maxBuffer = 256 << 10
)

// hooks are those that the CLI is asked to call: before each call and behind a block, for
// auto mode, and after reads, for an editor that can read its buffers out.
func (a *backend) hooks() map[string]any {
	auto := []any{map[string]any{"matcher": "*", "hookCallbackIds": []string{autoCallback}, "timeout": autoTime.Seconds()}}
	hooks := map[string]any{hook.PreToolUse: auto, hook.PermissionDenied: auto}
	if a.editor().reads {
		hooks["PostToolUse"] = []any{map[string]any{"matcher": "Read", "hookCallbackIds": []string{readHook}}}
	}
	return hooks
}

// hook answers a callback of the CLI.
func (p *pump) hook(m claude.Message) {
	if m.Get("request.callback_id").Str == autoCallback {
		p.autoHook(m)
		return
	}
	p.s.out.Errand(m.RequestID(), func(ctx context.Context) func() {
		var result any = struct{}{}
		if path := m.Get("request.input.tool_input.file_path").Str; path != "" {
			if text, ok := p.s.unsaved(ctx, path); ok {
				result = map[string]any{"hookSpecificOutput": map[string]any{
					"hookEventName": "PostToolUse",
					"additionalContext": "The user has changes to " + path + " in the editor that are not saved. There it reads:\n" +
						clean.Fence("", text),
				}}
			}
		}
		return func() { p.reply(m.RequestID(), result) }
	}, func() { p.reply(m.RequestID(), struct{}{}) })
}

// unsaved returns the editor's text of a file if it is not what is on disk.
func (s *conversation) unsaved(ctx context.Context, path string) (string, bool) {
	ctx, cancel := proc.Context(ctx, bufferTime)
	defer cancel()
	raw, err := s.out.Call(ctx, acp.ClientMethodFsReadTextFile, acp.ReadTextFileRequest{SessionId: acp.SessionId(s.id), Path: path})
	if err != nil {
		s.agent.log.Debug("the editor has no buffer of a file", "session", s.id, "err", err)
		return "", false
	}
	var buffer acp.ReadTextFileResponse
	if json.Unmarshal(raw, &buffer) != nil || len(buffer.Content) > maxBuffer {
		return "", false
	}
	disk, err := os.ReadFile(path)
	if err != nil || bytes.Equal(disk, []byte(buffer.Content)) {
		return "", false
	}
	return buffer.Content, true
}
