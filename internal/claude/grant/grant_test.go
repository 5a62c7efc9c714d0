package grant

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
		for _, g := range Read(json.RawMessage(suggestion)) {
			names = append(names, g.Name)
			require.NotContains(t, strings.Join(g.Updates, ""), "deny")
		}
		require.Equal(t, want, names, suggestion)
	}
}
