package transcript_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
)

// What was said last is the user's last prompt and what the main thread has said since:
// no tool's output, no sub-agent's words, none of the CLI's own.
func TestLast(t *testing.T) {
	file := filepath.Join(t.TempDir(), "0199a1b2-0000-4000-8000-00000000abcd.jsonl")
	lines := []string{
		`{"type":"user","message":{"role":"user","content":"set it up"},"cwd":"/src","timestamp":"2026-11-16T10:00:00Z"}`,
		`{"type":"assistant","message":{"model":"claude-opus-5","content":[{"type":"text","text":"It is set up."}]}}`,
		`{"type":"user","isMeta":true,"message":{"role":"user","content":"Caveat: nothing"}}`,
		`{"type":"user","message":{"role":"user","content":[{"type":"text","text":"<system-reminder>x</system-reminder>"},{"type":"text","text":"now run the **tests**"}]}}`,
		`{"type":"assistant","message":{"model":"claude-opus-5","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"I run them."}]}}`,
		`{"type":"assistant","message":{"model":"claude-opus-5","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}}`,
		`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"a.txt"}]}}`,
		`{"type":"assistant","isSidechain":true,"message":{"content":[{"type":"text","text":"a sub-agent's"}]}}`,
		`{"type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text","text":"And once more."}]}}`,
		`{"type":"ai-title","aiTitle":"Set the project up"}`,
	}
	write := func(before string) {
		require.NoError(t, os.WriteFile(file, []byte(before+strings.Join(lines, "\n")+"\n"), 0o600))
	}
	want := transcript.Said{Title: "Set the project up", Model: "claude-opus-5", Prompt: "now run the **tests**", Words: "I run them.\n\nAnd once more."}
	write("")
	got, ok := transcript.Last(file)
	require.True(t, ok)
	require.Equal(t, want, got)

	write(lines[0] + "\n" + strings.Repeat(`{"type":"assistant","message":{"content":[{"type":"text","text":"much before"}]}}`+"\n", 10_000))
	got, ok = transcript.Last(file)
	require.True(t, ok)
	require.Equal(t, want, got)

	_, ok = transcript.Last(file + "x")
	require.False(t, ok)
}
