//go:build unix

package claude_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// What tests above this package rely on and TestTheStandInIsLikeTheRealCLI
// does not see.
func TestStandInResults(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		result *ct.Result
		want   string // subtype, is_error, stop_reason, terminal_reason
	}{
		"success":    {nil, "success false end_turn completed"},
		"max_tokens": {&ct.Result{Subtype: "success", StopReason: "max_tokens", TerminalReason: "completed"}, "success false max_tokens completed"},
		"execution":  {&ct.Result{Subtype: "error_during_execution", IsError: true, Errors: []string{"broken"}}, "error_during_execution true  "},
		"API": {&ct.Result{Subtype: "success", IsError: true, StopReason: "stop_sequence", TerminalReason: "api_error",
			Text: "API Error: 529 Overloaded", APIErrorStatus: 529, Error: "server_error"}, "success true stop_sequence api_error"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			all := prompted(t, ct.Script{Turns: []ct.Turn{{Result: c.result}}}).until(claude.TypeResult)
			m := all[len(all)-1]
			require.Equal(t, c.want, strings.Join([]string{m.Subtype, field(m, "is_error").String(), field(m, "stop_reason").String(), field(m, "terminal_reason").String()}, " "))
			if c.result != nil && c.result.Error != "" {
				synthetic := all[len(all)-2]
				require.Equal(t, c.result.Error, field(synthetic, "error").String())
				require.Equal(t, "<synthetic>", field(synthetic, "message.model").String())
				require.Equal(t, c.result.Text, field(synthetic, "message.content.0.text").String())
				require.Empty(t, deltas(all))
			}
		})
	}
}

func TestStandInTurns(t *testing.T) {
	s := run(t, ct.Script{Turns: []ct.Turn{
		{Steps: []ct.Step{ct.Text("first")}, After: []ct.Step{ct.Text("by itself")}},
		{Match: "magic", Steps: []ct.Step{ct.Text("matched")}},
		{Steps: []ct.Step{ct.Message(ct.Tool("toolu_1", "TodoWrite", map[string]any{"todos": []any{}}, "Todos have been modified successfully.")), ct.Text("second")}},
	}})
	require.NoError(t, s.Prompt("a"))
	all := s.until(claude.TypeResult)
	require.Equal(t, "first", deltas(all))
	require.False(t, field(all[len(all)-1], "origin").Exists())
	all = s.until(claude.TypeResult)
	require.Equal(t, "by itself", deltas(all))
	require.Equal(t, "task-notification", field(all[len(all)-1], "origin.kind").String())
	require.NoError(t, s.Prompt("some magic"))
	require.Equal(t, "matched", deltas(s.until(claude.TypeResult)))
	require.NoError(t, s.Prompt("b"))
	all = s.until(claude.TypeResult)
	require.Equal(t, "second", deltas(all))
	require.Equal(t, []string{"toolu_1"}, toolResults(all))
	require.NoError(t, s.Prompt("c"))
	require.Equal(t, "(the script has no more turns)", deltas(s.until(claude.TypeResult)))
}

func TestStandInSessions(t *testing.T) {
	s := initialized(t, turns(ct.Text("x")), func(o *claude.Options) { o.SessionID = "s1" })
	require.NoError(t, s.Close(s.ctx))
	s.start(func(o *claude.Options) { o.Resume = "s1" })
	require.ErrorContains(t, acptest.Err(s.Initialize(s.ctx)), "No conversation found", "no prompt, no session")
	s.start(func(o *claude.Options) { o.SessionID = "s1" })
	require.NoError(t, s.Prompt("hi"))
	s.until(claude.TypeResult)
	s.start(func(o *claude.Options) { o.SessionID = "s1" })
	require.ErrorContains(t, acptest.Err(s.Initialize(s.ctx)), "already in use")
}
