package backend_test

import (
	"fmt"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// A session that is loaded shows the plans that were approved in it, to a client that has
// plans as Markdown.
func TestPlansOfATranscript(t *testing.T) {
	call := func(n, plan string) string {
		return fmt.Sprintf(`{"parentUuid":"u1","type":"assistant","message":{"id":"msg_%[1]s","model":"m","content":[{"type":"tool_use","id":"toolu_%[1]s","name":"ExitPlanMode","input":{"plan":%[2]q}}]},"uuid":"a%[1]s"}`, n, plan)
	}
	result := func(n, more string) string {
		return fmt.Sprintf(`{"parentUuid":"a%[1]s","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%[1]s","content":"so be it"%[2]s}]},"uuid":"t%[1]s"}`, n, more)
	}
	lines := []string{promptLine, call("1", "1. no"), result("1", `,"is_error":true`), strings.Replace(call("2", "1. **yes**"), "u1", "t1", 1), result("2", "")}
	for caps, want := range map[string][]string{`{"plan":{}}`: {"1. **yes**"}, `{"subagents":{}}`: nil, `{}`: nil} {
		t.Run(caps, func(t *testing.T) {
			t.Parallel()
			s := save(t, ct.Script{}, lines...)
			e, _ := s.reopen(s.options(), acp.AgentMethodSessionLoad, caps)
			var got []string
			for _, u := range e.Updates(reopened) {
				if u.Get("sessionUpdate").Str == "plan_update" {
					got = append(got, u.Get("plan.content").Str)
				}
			}
			require.Equal(t, want, got)
		})
	}
}
