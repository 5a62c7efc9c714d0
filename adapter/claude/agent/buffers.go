package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter/claude"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// The CLI reads files from disk. What the user has typed and not saved is in
// the editor: after each read the CLI calls back here, and the model is told
// what the editor has where that differs.

const (
	hookCallback = "hook_callback"
	readHook     = "acp-bridge-read"
	// bufferTime bounds how long a read waits for the editor.
	bufferTime = 5 * time.Second
	// maxBuffer is the largest buffer that is handed on.
	maxBuffer = 256 << 10
)

// hooks are those that the CLI is asked to call, for an editor that can read
// its buffers out.
func (a *Agent) hooks() map[string]any {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.canRead {
		return nil
	}
	return map[string]any{"PostToolUse": []any{map[string]any{
		"matcher": "Read", "hookCallbackIds": []string{readHook},
	}}}
}

// hook answers a callback of the CLI, in its own goroutine.
func (r *requests) hook(m claude.Message) {
	r.all.Add(1)
	go func() {
		defer r.all.Done()
		var result any = struct{}{}
		if path := m.Get("request.input.tool_input.file_path").Str; path != "" {
			if text, ok := r.s.unsaved(path); ok {
				result = map[string]any{"hookSpecificOutput": map[string]any{
					"hookEventName": "PostToolUse",
					"additionalContext": "The user has changes to " + path + " in the editor that are not saved. There it reads:\n" +
						clean.Fence("", text),
				}}
			}
		}
		r.reply(m.RequestID(), result)
	}()
}

// unsaved returns the editor's text of a file if it is not what is on disk.
func (s *session) unsaved(path string) (string, bool) {
	parent := s.ctx
	s.mu.Lock()
	if s.turn != nil {
		parent = s.turn.ctx
	}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(parent, bufferTime)
	defer cancel()
	raw, err := s.agent.connection().Call(ctx, acp.ClientMethodFsReadTextFile, acp.ReadTextFileRequest{SessionId: acp.SessionId(s.id), Path: path})
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
