//go:build unix

package claude_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/apitest"
	"github.com/acp-bridge/acp-bridge/internal/claude"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
)

// scenario is one conversation, scripted for the stand-in and, through the
// API, for the real CLI. Both must say the same things in the same order.
type scenario struct {
	stand   ct.Script
	api     []apitest.Reply
	sub     []apitest.Reply // what a sub-agent's calls get
	mode    string
	results int
	// react sees each message; it answers and interrupts.
	react func(*session, claude.Message)
}

func answer(p claude.Permission) func(*session, claude.Message) {
	return func(s *session, m claude.Message) {
		if m.Type == claude.TypeControlRequest {
			require.NoError(s.t, s.Reply(m.RequestID(), p))
		}
	}
}

func allow(s *session, m claude.Message) {
	if m.Type == claude.TypeControlRequest {
		require.NoError(s.t, s.Reply(m.RequestID(), claude.Allow(m.ToolRequest().Input)))
	}
}

var mkdir = object{"command": "mkdir one", "description": "dir"}

var askOnce = []apitest.Reply{apitest.Use(ask("toolu_1", "Which?")), apitest.Say("then")}

var one = turns(ct.Message(ct.Question("toolu_1", q)), ct.Text("then"))

func scenarios() map[string]scenario {
	asked := 0
	return map[string]scenario{
		"text": {
			stand: turns(ct.Message(ct.ThinkingBlock("hm"), ct.TextBlock("Hello ", "world"))),
			api:   []apitest.Reply{apitest.Use(apitest.Thinking("hm"), apitest.Text("Hello ", "world"))},
		},
		"question denied":         {stand: one, api: askOnce, react: answer(claude.Deny("no", false))},
		"question dismissed":      {stand: one, api: askOnce, react: answer(claude.Deny("no", true))},
		"question under dontAsk":  {stand: one, api: askOnce, mode: "dontAsk"},
		"question without answer": {stand: one, api: askOnce, react: allow},
		"bad reply to a question": {stand: one, api: askOnce, react: answer(claude.Permission{Behavior: "perhaps"})},
		"no questions in the reply": {
			stand: one, api: askOnce, react: answer(claude.Allow(json.RawMessage(`{"answers":{}}`))),
		},
		"error reply": {stand: one, api: askOnce, react: func(s *session, m claude.Message) {
			if m.Type == claude.TypeControlRequest {
				require.NoError(s.t, s.ReplyError(m.RequestID(), "boom"))
			}
		}},
		"two questions interrupted": {
			stand: turns(ct.Message(ct.Question("toolu_1", q), ct.Question("toolu_2", q))),
			api:   []apitest.Reply{apitest.Use(ask("toolu_1", "One?"), ask("toolu_2", "Two?"))},
			react: func(s *session, m claude.Message) {
				if m.Type == claude.TypeControlRequest && m.ToolRequest().ToolUseID == "toolu_2" {
					require.NoError(s.t, s.Interrupt(s.ctx))
				}
			},
		},
		"permission": {
			stand: turns(ct.Message(ct.AskTool("toolu_1", "Bash", mkdir, "", nil)), ct.Text("then")),
			api:   []apitest.Reply{apitest.Use(apitest.ToolUse("toolu_1", "Bash", mkdir)), apitest.Say("then")},
			react: allow,
		},
		"a command, then a question": {
			stand: turns(ct.Message(ct.AskTool("toolu_1", "Bash", mkdir, "", nil), ct.Question("toolu_2", q)), ct.Text("then")),
			api:   []apitest.Reply{apitest.Use(apitest.ToolUse("toolu_1", "Bash", mkdir), ask("toolu_2", "Two?")), apitest.Say("then")},
			react: allow,
		},
		"a sub-agent": {
			stand: turns(ct.Message(ct.Agent("toolu_a", "work", ct.Message(ct.TextBlock("unseen"), ct.AskTool("toolu_s", "Bash", mkdir, "", nil)), ct.Text("unseen"))), ct.Text("then")),
			api: []apitest.Reply{apitest.Use(apitest.ToolUse("toolu_a", "Agent", object{
				"description": "work", "prompt": "work", "subagent_type": "general-purpose", "run_in_background": false,
			})), apitest.Say("then")},
			sub:   []apitest.Reply{apitest.Use(apitest.Text("unseen"), apitest.ToolUse("toolu_s", "Bash", mkdir)), apitest.Say("unseen")},
			react: allow,
		},
		"a prompt while a question is open folds": {
			stand: one, api: askOnce,
			react: func(s *session, m claude.Message) {
				if m.Type == claude.TypeControlRequest {
					require.NoError(s.t, s.Prompt("and this"))
					_, err := s.Control(s.ctx, "no_such_request", nil)
					require.ErrorAs(s.t, err, new(*claude.ControlError), "the CLI has read the prompt, too")
					require.NoError(s.t, s.Reply(m.RequestID(), claude.Deny("no", false)))
				}
			},
		},
		"a prompt while text streams waits": {
			stand:   ct.Script{Turns: []ct.Turn{{Steps: []ct.Step{ct.Text("one")}}, {Steps: []ct.Step{ct.Text("two")}}}},
			api:     []apitest.Reply{apitest.Say("one"), apitest.Say("two")},
			results: 2,
			react: func(s *session, m claude.Message) {
				if m.Subtype == "message_start" && asked == 0 {
					asked++
					require.NoError(s.t, s.Prompt("next"))
				}
			},
		},
	}
}

// ignored are messages that the stand-in leaves out, and those whose place
// among the others is the scheduler's.
var ignored = []string{"system/thinking_tokens", "system/task_progress", "system/task_updated"}

func (sc scenario) play(s *session) []string {
	require.NoError(s.t, s.Prompt("hi"))
	var seen []string
	for results := 0; results < max(1, sc.results); {
		m, err := s.Next(s.ctx)
		require.NoError(s.t, err, "after %v", seen)
		if sc.react != nil {
			sc.react(s, m)
		}
		if m.Type == claude.TypeResult {
			results++
		}
		name := m.Type + "/" + m.Subtype
		if slices.Contains(ignored, name) || field(m, "event.delta.type").String() == "signature_delta" ||
			field(m, "event.delta.type").String() == "input_json_delta" {
			continue
		}
		for _, path := range []string{"parent_tool_use_id", "message.content.0.type", "message.content.0.tool_use_id", "message.content.0.is_error", "request.tool_use_id", "terminal_reason", "stop_reason", "is_error"} {
			if v := field(m, path); v.Exists() && v.Type.String() != "Null" && v.Raw != "false" {
				name += " " + v.String()
			}
		}
		seen = append(seen, name)
	}
	return seen
}

// afterStop moves the end of a message's stream before what its tools do: the
// two run side by side, and a dismissal may come before that end.
func afterStop(seen []string) []string {
	var tools, out []string
	streaming := false
	for _, s := range seen {
		s = strings.Replace(s, "aborted_streaming", "aborted_tools tool_use", 1)
		switch {
		case s == "stream_event/message_start":
			streaming = true
		case s == "stream_event/message_stop":
			out = append(append(out, s), tools...)
			tools, streaming = nil, false
			continue
		}
		isTool := !(len(s) > 12 && s[:12] == "stream_event") && s[:min(len(s), 9)] != "assistant"
		if streaming && isTool {
			tools = append(tools, s)
			continue
		}
		out = append(out, s)
	}
	return append(out, tools...)
}

func TestTheStandInIsLikeTheRealCLI(t *testing.T) {
	for name, sc := range scenarios() {
		t.Run(name, func(t *testing.T) {
			stand := scenarios()[name].play(run(t, sc.stand, func(o *claude.Options) { o.Mode = sc.mode }))
			r := startReal(t, func(o *claude.Options) { o.Mode = sc.mode })
			if sc.sub != nil {
				r.api.When(func(q apitest.Request) bool { return !slices.Contains(q.Tools(), "AskUserQuestion") }, sc.sub...)
			}
			r.api.Script(sc.api...)
			require.Equal(t, afterStop(scenarios()[name].play(r.session)), afterStop(stand))
		})
	}
}
