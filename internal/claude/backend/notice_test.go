package backend_test

import (
	"fmt"
	"os"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// What is no part of the conversation is a notice, for an editor that shows them. Any
// other reads what matters in the conversation, as before.
func TestNotices(t *testing.T) {
	for caps, notices := range map[string]bool{
		`{}`: false, `{"session":{"notices":null}}`: false, `{"session":{"notices":true}}`: false, `{"session":{"notices":{}}}`: true,
	} {
		t.Run(caps, func(t *testing.T) {
			cli := ct.New(t, turns(steps{ct.Message(ct.Question("toolu_1", which)), ct.Text("Noted.")}))
			tell := make(chan func(bool, string), 1)
			e := serve(t, backend.Options{Claude: cli.Path, Announce: func(f func(bool, string)) { tell <- f }})
			e.Initialize(caps)
			s := e.Call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[],"_meta":{"claudeCode":{"options":{"allowedTools":["Bash"]}}}}`, t.TempDir())).Get("sessionId").Str
			turn := e.Prompt(s, "go")
			e.Asked("Which database?").Selects("never offered")
			turn.Ends(acp.StopReasonEndTurn) // it waits in the conversation
			(<-tell)(true, "The hub cannot be used now")
			list := func() (titles []string) {
				for _, u := range e.Updates(s) {
					if u.Get("sessionUpdate").Str == "notice" {
						titles = append(titles, u.Get("severity").Str+": "+u.Get("title").Str)
					}
				}
				return titles
			}
			if !notices {
				require.Empty(t, list())
				require.Contains(t, e.Said(s), "Your editor sent options")
				return
			}
			require.NotContains(t, e.Said(s), "Your editor sent options")
			e.Prompt(s, "1").Ends(acp.StopReasonEndTurn)
			e.Await(s, "the hub's", func(u gjson.Result) bool { return u.Get("title").Str == "The hub cannot be used now" })
			require.ElementsMatch(t, []string{
				"warning: Options of your editor are not used: they could let Claude Code act without asking",
				"warning: This question could not be shown as a permission here; it is asked another way.",
				"warning: The hub cannot be used now",
			}, list())
		})
	}
}

// The CLI is looked for in the environment that it gets.
func TestEnvNamesTheCLI(t *testing.T) {
	cli := ct.New(t, turns(steps{ct.Text("hello")}))
	t.Setenv("ACP_BRIDGE_CLAUDE", "/nowhere/claude")
	e := serve(t, backend.Options{Env: append(os.Environ(), "ACP_BRIDGE_CLAUDE="+cli.Path)})
	e.Initialize(`{}`)
	e.Prompt(e.Open(t.TempDir()), "hi").Ends(acp.StopReasonEndTurn)
}
