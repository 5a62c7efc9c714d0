//go:build unix

package transcript_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
)

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

func first(v gjson.Result, fields ...string) string {
	for _, f := range fields {
		if r := v.Get(f); r.Exists() {
			raw, _ := json.Marshal(json.RawMessage(r.Raw))
			return string(bytes.ReplaceAll(bytes.ReplaceAll(raw, []byte(`\u003c`), []byte("<")), []byte(`\u003e`), []byte(">")))
		}
	}
	return "-"
}

func list(t testing.TB, opts transcript.Options) []transcript.Info {
	t.Helper()
	page, next, err := transcript.List(t.Context(), opts)
	require.NoError(t, err)
	require.Empty(t, next)
	return page
}

func titles(page []transcript.Info) []string {
	out := []string{}
	for _, i := range page {
		out = append(out, i.Title)
	}
	return out
}

func open(t testing.TB, path string) *transcript.Transcript {
	t.Helper()
	tr, err := transcript.Open(t.Context(), path)
	require.NoError(t, err)
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

func field(m claude.Message, path string) gjson.Result { return gjson.GetBytes(m.Raw, path) }
