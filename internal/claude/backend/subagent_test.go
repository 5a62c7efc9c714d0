package backend_test

import (
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

const parentPath = "_meta.claudeCode.parentToolUseId"

// A question of a sub-agent says whose it is, on every rung.
func TestSubAgentsQuestionSaysWhoseItIs(t *testing.T) {
	const sentence = `The sub-agent "explore the code" asks:`
	script := turns(steps{ct.Message(ct.Agent("toolu_a", "explore the code", ct.Message(ct.Question("toolu_q", which)))), ct.Text("done")})
	for name, rung := range map[string]adapter.Rung{"form": adapter.Form, "permission": adapter.Permission, "message": adapter.Conversation} {
		t.Run(name, func(t *testing.T) {
			cli := ct.New(t, script)
			e := serve(t, backend.Options{Claude: cli.Path, First: rung})
			e.Initialize(`{"elicitation":{"form":{}}}`)
			s := e.Open(t.TempDir())
			turn := e.Prompt(s, "go")
			switch rung {
			case adapter.Form:
				r := e.Next()
				require.Equal(t, sentence+"\n\nWhich database?", r.Get("message").Str)
				require.Equal(t, "Database", r.Get("requestedSchema.properties.question_0.title").Str)
				require.Equal(t, "toolu_a", r.Get(parentPath).Str)
				r.Answer <- object{"action": "accept", "content": object{"question_0": "SQLite"}}
			case adapter.Permission:
				r := e.Asked("Which database?")
				require.Equal(t, `Database (sub-agent "explore the code")`, r.Get("toolCall.title").Str)
				require.Equal(t, sentence+"\n\nWhich database?", r.Get("toolCall.content.0.content.text").Str)
				require.Equal(t, "toolu_a", r.Get(parentPath).Str)
				r.Selects("SQLite")
			default:
				turn.Ends(acp.StopReasonEndTurn)
				require.Contains(t, e.Said(s), sentence+"\n\n**Database**")
				turn = e.Prompt(s, "2")
			}
			turn.Ends(acp.StopReasonEndTurn)
			require.JSONEq(t, `{"Which database?":"SQLite"}`, answers(cli, "toolu_q"))
			n := 0
			for _, u := range e.Updates(s) {
				if u.Get("toolCallId").Str == "toolu_q" {
					n++
					require.Equal(t, "toolu_a", u.Get(parentPath).Str, u.Raw)
				}
			}
			require.GreaterOrEqual(t, n, 2, "announced and completed")
		})
	}
}

// A permission that a sub-agent needs says whose it is, behind what it is for.
func TestSubAgentsPermissionSaysWhoseItIs(t *testing.T) {
	cli := ct.New(t, turns(steps{ct.Message(ct.Agent("toolu_a", "explore", ct.Message(ct.AskTool("toolu_b", "Bash", object{"command": "ls"}, "x", nil))))}))
	open := new(desk.Desk)
	e := serve(t, backend.Options{Claude: cli.Path, Desk: open})
	s := e.Ready()
	turn := e.Prompt(s, "go")
	r := e.Asked("ls")
	require.Equal(t, "explore", open.List()[0].Call.SubAgent.Task, "also where it is answered from elsewhere")
	require.Equal(t, "toolu_a", r.Get(parentPath).Str)
	content := r.Get("toolCall.content").Array()
	require.Equal(t, `Asked by the sub-agent "explore".`, content[len(content)-1].Get("content.text").Str)
	require.NotContains(t, r.Get("toolCall.title").Str, "sub-agent")
	r.Selects("allow")
	turn.Ends(acp.StopReasonEndTurn)
}

// The agent itself is nobody's sub-agent.
func TestAgentsOwnQuestionNamesNoSubAgent(t *testing.T) {
	e, _ := scripted(t, turns(steps{ct.Message(ct.Question("toolu_q", which), ct.AskTool("toolu_b", "Bash", object{"command": "ls"}, "x", nil))}))
	s := e.Ready()
	turn := e.Prompt(s, "go")
	for range 2 {
		r := e.Next()
		require.NotContains(t, r.Raw, "sub-agent")
		require.NotContains(t, r.Raw, "parentToolUseId")
		if strings.Contains(r.Raw, "Which database?") {
			r.Selects("SQLite")
		} else {
			r.Selects("allow")
		}
	}
	turn.Ends(acp.StopReasonEndTurn)
}

// One of which nothing is known but that it is a sub-agent says that.
func TestUnknownSubAgent(t *testing.T) {
	_, cli, _, r := idling(t, asksLater("open", "AskUserQuestion", object{"questions": qs(which)}, true), "Which database?", false, adapter.Permission)
	require.Equal(t, "Database (sub-agent)", r.Get("toolCall.title").Str)
	require.False(t, r.Get(parentPath).Exists())
	r.Selects("SQLite")
	require.JSONEq(t, `{"Which database?":"SQLite"}`, answers(cli, "open"))
}

// With the policy to refuse, the sub-agent is told so and nobody is asked. The
// agent itself may ask.
func TestSubAgentsAreRefused(t *testing.T) {
	cli := ct.New(t, turns(steps{
		ct.Message(ct.Agent("toolu_a", "explore", ct.Message(ct.Question("toolu_q", which)))),
		ct.Message(ct.Question("toolu_own", many)),
	}))
	e := serve(t, backend.Options{Claude: cli.Path, RefuseSubAgents: true})
	s := e.Ready()
	turn := e.Prompt(s, "go")
	e.Asked("Which features?").Types("none")
	turn.Ends(acp.StopReasonEndTurn)
	reply := gjson.ParseBytes(cli.Reply("toolu_q"))
	require.Equal(t, "deny", reply.Get("behavior").Str)
	require.Equal(t, "AskUserQuestion is not available to sub-agents", reply.Get("message").Str)
	require.False(t, reply.Get("interrupt").Bool())
	require.Equal(t, "failed", e.Tool(s, "toolu_q")["status"])
}
