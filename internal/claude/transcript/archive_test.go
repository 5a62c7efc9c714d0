package transcript_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
)

// The mark is that of the CLI: who is archived is so until a prompt comes, wherever in
// the file that is.
func TestArchive(t *testing.T) {
	const mark = `{"archived":true,"at":"2026-11-16T10:00:00.000Z","by":"sdk"}`
	line := func(when, rest string) string {
		return `{"type":"user","uuid":"u","timestamp":"2026-11-16T` + when + `.000Z"` + rest + `}`
	}
	said := `,"message":{"role":"user","content":"more"}`
	filler := `{"type":"api-request","x":"` + strings.Repeat("x", 100<<10) + `"}`
	for name, c := range map[string]struct {
		mark  string
		lines []string
		want  bool
	}{
		"marked":                    {mark, nil, true},
		"taken back":                {`{"archived":false,"at":"2026-11-16T10:00:00.000Z"}`, nil, false},
		"not the CLI's":             {`{"archived":true}`, nil, false},
		"no JSON":                   {`{"archived":true,"at":"2026-11-16T10:00:00.000Z"`, nil, false},
		"too long":                  {mark + strings.Repeat(" ", 5<<10), nil, false},
		"a prompt before":           {mark, []string{line("09:59:59", said)}, true},
		"a prompt since":            {mark, []string{line("10:00:01", said)}, false},
		"at the end of a long file": {mark, []string{filler, filler, line("10:00:01", said)}, false},
		"one in the queue":          {mark, []string{`{"type":"attachment","timestamp":"2026-11-16T10:00:01.000Z","attachment":{"type":"queued_command","prompt":"more"}}`}, false},
		"a tool's result since":     {mark, []string{line("10:00:01", `,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}`)}, true},
		"the CLI's own words":       {mark, []string{line("10:00:01", `,"isMeta":true`+said)}, true},
		"a sub-agent's":             {mark, []string{line("10:00:01", `,"isSidechain":true`+said)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			path := s.put("/one", id(1), append([]string{prompt("/one", "hello")}, c.lines...)...)
			dir := strings.TrimSuffix(path, ".jsonl")
			require.NoError(t, os.MkdirAll(dir, 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "archived.json"), []byte(c.mark), 0o600))
			info, ok := transcript.Stat(path)
			require.True(t, ok)
			require.Equal(t, c.want, info.Archived)

			at(t, path, 1)
			for _, archived := range []bool{true, true, false, false, true} {
				require.NoError(t, transcript.Archive(s.config, path, archived))
				after, _ := transcript.Stat(path)
				require.Equal(t, archived, after.Archived)
				require.True(t, after.Updated.Equal(noon.Add(60e9)), "its place in a list stays")
			}
		})
	}
}

func TestArchiveOutside(t *testing.T) {
	s := newStore(t)
	path := s.put("/one", id(1), prompt("/one", "hello"))
	for _, outside := range []string{filepath.Join(t.TempDir(), filepath.Base(path)), filepath.Dir(path), filepath.Join(filepath.Dir(path), "x.jsonl")} {
		require.ErrorIs(t, transcript.Archive(s.config, outside, true), transcript.ErrOutside)
	}
	require.ErrorIs(t, transcript.Archive("", path, true), transcript.ErrOutside)
	// A link in the place of the folder is not followed.
	elsewhere := t.TempDir()
	require.NoError(t, os.Symlink(elsewhere, strings.TrimSuffix(path, ".jsonl")))
	require.Error(t, transcript.Archive(s.config, path, true))
	require.Empty(t, acptest.Must(os.ReadDir(elsewhere)))
}
