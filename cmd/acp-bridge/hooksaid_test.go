package main

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/claude/hook"
	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
)

// Claude Code asks before it has written down what it was told: of a new session's first
// question, too, a person is told the prompt and the model. What is never written holds
// nothing up for long.
func TestHookWaitsForWhatWasSaid(t *testing.T) {
	dir, work := t.TempDir(), t.TempDir()
	t.Setenv("CLAUDE_CONFIG_DIR", dir)
	const session = "0b5c7a3e-5a0f-4000-8000-00000000abcd"
	path := filepath.Join(transcript.Dir(dir, work), session+".jsonl")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	event := hook.Event{Session: session, Dir: work, Transcript: path}
	const begun = `{"type":"mode","mode":"normal","sessionId":"` + session + `"}` + "\n"
	synctest.Test(t, func(t *testing.T) {
		write(begun)
		time.AfterFunc(writeTime/2, func() {
			write(begun + `{"type":"user","message":{"role":"user","content":"run the tests"}}
{"type":"assistant","message":{"model":"claude-opus-5","content":[{"type":"text","text":"I run them now."}]}}
`)
		})
		a := about.Decode(aboutSession(event))
		require.Equal(t, []string{"claude-opus-5", "run the tests", "I run them now."}, []string{a.Model, a.Prompt, a.Said})
	})
	synctest.Test(t, func(t *testing.T) {
		write(begun)
		start := time.Now()
		require.Empty(t, about.Decode(aboutSession(event)).Prompt)
		require.Less(t, time.Since(start), 2*writeTime)
	})
}
