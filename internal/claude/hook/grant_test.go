package hook

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// A rule that denies or asks is never offered as one that always allows.
func TestOnlyAllowRulesAreOffered(t *testing.T) {
	const rules = `"rules":[{"toolName":"Bash","ruleContent":"rm:*"}],"destination":"session"}`
	const always = "Always allow Bash(rm:*) in this session"
	for suggestion, want := range map[string][]string{
		`[{"type":"addRules","behavior":"allow",` + rules + `]`:                                                    {always},
		`[{"type":"addRules","behavior":"deny",` + rules + `]`:                                                     nil,
		`[{"type":"addRules","behavior":"ask",` + rules + `]`:                                                      nil,
		`[{"type":"addRules",` + rules + `]`:                                                                       nil,
		`[{"type":"removeRules","behavior":"allow",` + rules + `]`:                                                 nil,
		`[{"type":"setMode","mode":"bypassPermissions","destination":"session"}]`:                                  nil,
		`[{"type":"addRules","behavior":"deny",` + rules + `,{"type":"addRules","behavior":"allow",` + rules + `]`: {always},
	} {
		var names []string
		for _, g := range Grants(json.RawMessage(suggestion)) {
			names = append(names, g.Name)
			require.NotContains(t, strings.Join(g.Updates, ""), "deny")
		}
		require.Equal(t, want, names, suggestion)
	}
}

// The narrowest way to go on with a plan is the first that is offered, and the only one that
// is for once: what a client takes unseen.
func TestOnlyTheNarrowestYesIsForOnce(t *testing.T) {
	for modes, want := range map[string]string{
		"default auto acceptEdits bypassPermissions": "default=allow_once auto=allow_always acceptEdits=allow_always bypassPermissions=allow_always plan=reject_once",
		"auto acceptEdits":                           "auto=allow_once acceptEdits=allow_always plan=reject_once",
		"":                                           "plan=reject_once",
	} {
		var got []string
		for _, c := range PlanChoices(func(mode string) bool { return slices.Contains(strings.Fields(modes), mode) }) {
			got = append(got, c.ID+"="+c.Kind)
		}
		require.Equal(t, want, strings.Join(got, " "))
	}
}

// What is remembered of an event is small, also where the event is large.
func TestWhatIsKeptIsSmall(t *testing.T) {
	event := func(name string, n int) []byte {
		return fmt.Appendf(nil, `{"hook_event_name":"PreToolUse","session_id":"c1234567","x":"%[1]s",%q:"%.[3]*[1]s"}`, strings.Repeat("x", 1<<20), name, n)
	}
	var kept []string
	for _, name := range []string{"tool_use_id", "tool_name", "agent_id", "acp_bridge_process"} {
		require.ErrorContains(t, acptest.Err(Parse(event(name, 513))), "at most 512 bytes", name)
		for range 8 {
			e := acptest.Must(Parse(event(name, 512)))
			kept = append(kept, e.ToolUse, e.Tool, e.Agent, e.Process, e.Session)
		}
	}
	var now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&now)
	require.Less(t, now.HeapAlloc, uint64(16<<20))
	runtime.KeepAlive(kept)
}
