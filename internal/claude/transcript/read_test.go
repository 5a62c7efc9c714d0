package transcript_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"golang.org/x/tools/txtar"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
)

var update = flag.Bool("update", false, "rewrite the want.txt of testdata")

// TestCases replays each testdata/*.txtar: session.jsonl and the files beside
// it are the transcript, want.txt is what is seen of it.
func TestCases(t *testing.T) {
	files := acptest.Must(filepath.Glob("testdata/*.txtar"))
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive := acptest.Must(txtar.ParseFile(file))
			path, want := unpack(t, archive)
			got := describe(t, path)
			if *update {
				want.Data = []byte(got)
				require.NoError(t, os.WriteFile(file, txtar.Format(archive), 0o644))
				return
			}
			require.Equal(t, string(want.Data), got)
			withCRLF(t, path)
			require.Equal(t, got, describe(t, path), "the line ends make no difference")
		})
	}
}

// unpack writes the files of a case as the CLI would.
func unpack(t *testing.T, archive *txtar.Archive) (path string, want *txtar.File) {
	t.Helper()
	dir := t.TempDir()
	path = filepath.Join(dir, id(1)+".jsonl")
	for i := range archive.Files {
		f := &archive.Files[i]
		switch f.Name {
		case "want.txt":
			want = f
		case "session.jsonl":
			require.NoError(t, os.WriteFile(path, f.Data, 0o600))
		default:
			name := filepath.Join(dir, id(1), f.Name)
			require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
			require.NoError(t, os.WriteFile(name, f.Data, 0o600))
		}
	}
	return path, want
}

func withCRLF(t *testing.T, path string) {
	t.Helper()
	data := acptest.Must(os.ReadFile(path))
	require.NoError(t, os.WriteFile(path, bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")), 0o600))
}

// id is a session id.
func id(n int) string { return fmt.Sprintf("%08x-0000-4000-8000-000000000000", n) }

func open(t testing.TB, path string) *transcript.Transcript {
	t.Helper()
	tr := acptest.Must(transcript.Open(t.Context(), path))
	t.Cleanup(func() { tr.Close() })
	return tr
}

var kinds = map[transcript.Kind]string{
	transcript.Prompt: "prompt", transcript.Text: "text", transcript.Thinking: "thinking",
	transcript.ToolUse: "call", transcript.ToolResult: "result", transcript.Output: "output",
	transcript.Failure: "failure", transcript.Interrupted: "interrupted", transcript.Compacted: "compacted",
}

var endings = map[transcript.Ending]string{
	transcript.Unanswered: "unanswered", transcript.Lost: "lost", transcript.Rejected: "rejected",
	transcript.Refused: "refused", transcript.Abandoned: "abandoned",
}

// describe is a transcript for people: a line for each entry, sub-agents
// indented by the call they run in.
func describe(t testing.TB, path string) string {
	t.Helper()
	tr := open(t, path)
	var b strings.Builder
	for e, err := range tr.Entries(t.Context()) {
		require.NoError(t, err)
		check(t, e)
		if e.ParentToolUseID != "" {
			fmt.Fprintf(&b, "  [%s] ", e.ParentToolUseID)
		}
		b.WriteString(kinds[e.Kind])
		if e.ToolUseID != "" {
			b.WriteString(" " + e.ToolUseID)
		}
		for _, block := range field(e.Message, "message.content").Array() {
			fmt.Fprintf(&b, " %s", first(block, "text", "thinking", "input", "content", "source"))
		}
		if r := field(e.Message, "tool_use_result"); r.Exists() {
			b.WriteString(" | " + r.Raw)
		}
		if r := field(e.Message, "tool_result_meta.0.non_execution_kind"); r.Exists() {
			b.WriteString(" | not run: " + r.Str)
		}
		b.WriteByte('\n')
	}
	for _, q := range tr.Questions() {
		fmt.Fprintf(&b, "question %s is %s: %s\n", q.ToolUseID, endings[q.How], gjson.GetBytes(q.Input, "questions.0.question"))
	}
	if s := tr.Skipped(); s != (transcript.Skipped{}) {
		fmt.Fprintf(&b, "passed over: %d damaged, %d too long, %d other\n", s.Damaged, s.TooLong, s.Other)
	}
	return b.String()
}

func first(v gjson.Result, fields ...string) string {
	for _, f := range fields {
		if r := v.Get(f); r.Exists() {
			raw, _ := json.Marshal(json.RawMessage(r.Raw))
			return string(bytes.ReplaceAll(bytes.ReplaceAll(raw, []byte(`\u003c`), []byte("<")), []byte(`\u003e`), []byte(">")))
		}
	}
	return "-"
}

// check holds for every entry of every transcript: its message is one that the
// CLI could have sent.
func check(t require.TestingT, e transcript.Entry) {
	require.Contains(t, kinds, e.Kind)
	require.True(t, json.Valid(e.Message.Raw), "%s", e.Message.Raw)
	require.NotContains(t, string(e.Message.Raw), "\n")
	require.Equal(t, e.Message.Type, field(e.Message, "type").Str)
	require.Equal(t, e.Message.Subtype, field(e.Message, "subtype").Str)
	require.Equal(t, e.ParentToolUseID, e.Message.ParentToolUseID())
	content := field(e.Message, "message.content").Array()
	switch e.Kind {
	case transcript.Prompt:
		require.Empty(t, e.ParentToolUseID)
		require.NotEmpty(t, content)
	case transcript.Compacted:
	default:
		require.Len(t, content, 1)
	}
}

// A line that no message can be is passed over: here it is a hole in the file.
func TestOverlongLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), id(1)+".jsonl")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Truncate(path, 40<<20))
	f := acptest.Must(os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0))
	fmt.Fprintln(f, "\n"+prompt("/one", "hi"))
	require.NoError(t, f.Close())
	require.Equal(t, "prompt \"hi\"\npassed over: 0 damaged, 1 too long, 0 other\n", describe(t, path))
}

func TestNothingToRead(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, id(1)+".jsonl")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	require.Empty(t, describe(t, empty))

	require.ErrorIs(t, acptest.Err(transcript.Open(t.Context(), filepath.Join(dir, id(2)+".jsonl"))), os.ErrNotExist)
	require.ErrorContains(t, acptest.Err(transcript.Open(t.Context(), dir)), "not a regular file")
	link := filepath.Join(dir, id(3)+".jsonl")
	require.NoError(t, os.Symlink(empty, link))
	require.ErrorContains(t, acptest.Err(transcript.Open(t.Context(), link)), "not a regular file")
}

func TestEntriesStop(t *testing.T) {
	path := filepath.Join(t.TempDir(), id(1)+".jsonl")
	writeTurns(t, path, 50, 100)
	tr := acptest.Must(transcript.Open(t.Context(), path))
	defer tr.Close()
	n := 0
	for _, err := range tr.Entries(t.Context()) {
		require.NoError(t, err)
		if n++; n == 3 {
			break
		}
	}
	require.Equal(t, 3, n)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n = 0
	var last error
	for _, err := range tr.Entries(ctx) {
		last = err
		n++
		cancel()
	}
	require.ErrorIs(t, last, context.Canceled)
	require.Equal(t, 2, n)
}

// TestFileShrinks reads a file that was cut off after it was opened.
func TestFileShrinks(t *testing.T) {
	path := filepath.Join(t.TempDir(), id(1)+".jsonl")
	writeTurns(t, path, 20, 100)
	tr := open(t, path)
	require.NoError(t, os.Truncate(path, 1000))
	for _, err := range tr.Entries(t.Context()) {
		require.NoError(t, err)
	}
	require.Empty(t, tr.Questions())
}

// writeTurns writes a transcript of n turns: a prompt, a thought, a call, its
// result of the given size, a text; and lines of other types between them.
func writeTurns(t testing.TB, path string, n, size int) {
	t.Helper()
	f := acptest.Must(os.Create(path))
	w := bytes.Buffer{}
	parent := "null"
	line := func(uuid, format string, args ...any) {
		fmt.Fprintf(&w, `{"parentUuid":%s,"isSidechain":false,%s,"uuid":"%s","timestamp":"2026-11-15T02:27:16.447Z","userType":"external","cwd":"/work","sessionId":"%s","version":"2.1.325"}`+"\n",
			parent, fmt.Sprintf(format, args...), uuid, id(1))
		parent = `"` + uuid + `"`
	}
	text := strings.Repeat("words and ", size/10)
	for i := range n {
		u := func(k int) string { return fmt.Sprintf("%08x-%04x-4000-8000-000000000000", i, k) }
		line(u(1), `"type":"user","message":{"role":"user","content":[{"type":"text","text":"prompt %d"}]}`, i)
		line(u(2), `"type":"attachment","attachment":{"type":"date","date":"2026-11-15"}`)
		fmt.Fprintf(&w, `{"type":"api-request","id":"%d","params":{"model":"m","betas":[%q]}}`+"\n", i, text)
		line(u(3), `"message":{"id":"msg_%d","model":"m","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"}]},"type":"assistant"`, i)
		line(u(4), `"message":{"id":"msg_%d","model":"m","content":[{"type":"tool_use","id":"toolu_%d","name":"Bash","input":{"command":"ls"}}]},"type":"assistant"`, i, i)
		line(u(5), `"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":%q}]},"toolUseResult":{"stdout":%q,"stderr":""}`, i, text, text)
		line(u(6), `"message":{"id":"msg_%d_2","model":"m","content":[{"type":"text","text":"done"}]},"type":"assistant"`, i)
		if w.Len() > 1<<20 {
			acptest.Must(w.WriteTo(f))
		}
	}
	acptest.Must(w.WriteTo(f))
	require.NoError(t, f.Close())
}

func field(m claude.Message, path string) gjson.Result { return gjson.GetBytes(m.Raw, path) }

// FuzzRead replays and lists whatever a file may hold. The same bytes are the
// file of a sub-agent too.
func FuzzRead(f *testing.F) {
	for _, file := range acptest.Must(filepath.Glob("testdata/*.txtar")) {
		for _, part := range acptest.Must(txtar.ParseFile(file)).Files {
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
		tr := acptest.Must(transcript.Open(t.Context(), path))
		defer tr.Close()
		for e, err := range tr.Entries(t.Context()) {
			require.NoError(t, err)
			check(t, e)
		}
		for _, q := range tr.Questions() {
			require.NotEmpty(t, q.ToolUseID)
		}
		page, _ := acptest.Must2(transcript.List(t.Context(), transcript.Options{ConfigDir: config}))
		for _, info := range page {
			require.NotEmpty(t, info.Title)
			require.NotContains(t, info.Title, "\n")
		}
	})
}
