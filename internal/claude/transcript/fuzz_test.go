package transcript_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
)

// FuzzRead replays and lists whatever a file may hold. The same bytes are the
// file of a sub-agent too.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(f, err)
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		require.NoError(f, err)
		for _, part := range archive.Files {
			f.Add(part.Data)
		}
	}
	config := f.TempDir()
	dir := filepath.Join(config, "projects", "-one")
	path := filepath.Join(dir, id(1)+".jsonl")
	agents := filepath.Join(dir, id(1), "subagents")
	require.NoError(f, os.MkdirAll(agents, 0o700))
	for name, data := range map[string]string{
		filepath.Join(agents, "agent-a.meta.json"): `{"toolUseId":"toolu_a"}`,
		filepath.Join(agents, "agent-b.meta.json"): `{"toolUseId":"toolu_1"}`,
	} {
		require.NoError(f, os.WriteFile(name, []byte(data), 0o600))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range []string{path, filepath.Join(agents, "agent-a.jsonl"), filepath.Join(agents, "agent-b.jsonl")} {
			require.NoError(t, os.WriteFile(name, data, 0o600))
		}
		tr, err := transcript.Open(t.Context(), path)
		require.NoError(t, err)
		defer tr.Close()
		for e, err := range tr.Entries(t.Context()) {
			require.NoError(t, err)
			check(t, e)
		}
		for _, q := range tr.Questions() {
			require.NotEmpty(t, q.ToolUseID)
		}
		page, _, err := transcript.List(t.Context(), transcript.Options{ConfigDir: config})
		require.NoError(t, err)
		for _, info := range page {
			require.NotEmpty(t, info.Title)
			require.NotContains(t, info.Title, "\n")
		}
	})
}
