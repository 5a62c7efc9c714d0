package backend

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/claude"
)

// A rule that denies or asks is never offered as one that always allows.
func TestOnlyAllowRulesAreOffered(t *testing.T) {
	const rules = `"rules":[{"toolName":"Bash","ruleContent":"rm:*"}],"destination":"session"}`
	for suggestion, want := range map[string][]string{
		`[{"type":"addRules","behavior":"allow",` + rules + `]`:                                                    {"allow", "allow_always", "reject"},
		`[{"type":"addRules","behavior":"deny",` + rules + `]`:                                                     {"allow", "reject"},
		`[{"type":"addRules","behavior":"ask",` + rules + `]`:                                                      {"allow", "reject"},
		`[{"type":"addRules",` + rules + `]`:                                                                       {"allow", "reject"},
		`[{"type":"removeRules","behavior":"allow",` + rules + `]`:                                                 {"allow", "reject"},
		`[{"type":"setMode","mode":"bypassPermissions","destination":"session"}]`:                                  {"allow", "reject"},
		`[{"type":"addRules","behavior":"deny",` + rules + `,{"type":"addRules","behavior":"allow",` + rules + `]`: {"allow", "allow_always", "reject"},
	} {
		var ids []string
		for _, c := range choicesFor(claude.ToolRequest{ToolName: "Bash", Suggestions: json.RawMessage(suggestion)}, true) {
			ids = append(ids, string(c.option.OptionId))
			for _, u := range []string{string(c.updates)} {
				require.NotContains(t, u, "deny")
			}
		}
		require.Equal(t, want, ids, suggestion)
	}
}
