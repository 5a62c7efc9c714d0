package proxy

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
)

// The ways to open a session that is there. Of these the agent answers the last two
// with the name of the session that there is.
var openings = map[string]string{
	"session/load":   `{}`,
	"session/resume": `{}`,
	"session/new":    `{"sessionId":"s1"}`,
	"session/fork":   `{"sessionId":"s1"}`,
}

// opensAnew begins to open the session anew, and returns the agent's end of it.
func (p *proxied) opensAnew(method string) gjson.Result {
	p.Helper()
	p.editor.send(`{"jsonrpc":"2.0","id":"open","method":"` + method + `","params":{"sessionId":"s1","cwd":"/x","mcpServers":[]}}`)
	return p.agent.until(method)
}

const history = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"go"}}}}`

// A question in the conversation of a session that is opened anew stands in the new
// one, too: behind what the agent says of the past, which is not held.
func TestQuestionInASessionOpenedAnew(t *testing.T) {
	for method, result := range openings {
		t.Run(method, func(t *testing.T) {
			p := inConversation(t)
			p.agent.send(oneLine(grokAsks))
			require.Equal(t, "p1", p.editor.reply().Get("id").Str)
			request := p.opensAnew(method)
			if method == "session/load" {
				p.agent.send(history)
				require.Equal(t, "user_message_chunk", p.editor.until("session/update").Get("params.update.sessionUpdate").Str)
			}
			p.agent.result(request, result)
			require.Equal(t, "open", p.editor.reply().Get("id").Str)
			again := p.editor.said()
			require.Contains(t, again, "still open")
			require.Contains(t, again, "Which database?")
			p.prompt("p2", "2")
			require.Equal(t, "SQLite", p.agent.next().Get(`result.answers.Which database\?.0`).Str)
			p.agent.send(`{"jsonrpc":"2.0","id":"p1","result":{"stopReason":"end_turn"}}`)
			require.Equal(t, "p2", p.editor.reply().Get("id").Str)
		})
	}
}

// It does so, too, if the agent does not open the session.
func TestQuestionInASessionNotOpened(t *testing.T) {
	p := inConversation(t)
	p.agent.send(oneLine(grokAsks))
	p.editor.reply()
	p.opensAnew("session/load")
	p.agent.send(`{"jsonrpc":"2.0","id":"open","error":{"code":-32602,"message":"no"}}`)
	require.Equal(t, "open", p.editor.reply().Get("id").Str)
	require.Contains(t, p.editor.said(), "Which database?")
}

// What comes while the session is opened answers nothing that was shown before. It
// takes the question's place.
func TestPromptWhileASessionIsOpened(t *testing.T) {
	for name, first := range map[string]adapter.Rung{"conversation": adapter.Conversation, "dialog": adapter.Permission} {
		t.Run(name, func(t *testing.T) {
			p := start(t, Options{First: first})
			p.initialize(noForms)
			p.prompt("p1", "go")
			p.agent.next()
			p.agent.send(oneLine(grokAsks))
			if first == adapter.Conversation {
				p.editor.reply()
			} else {
				p.editor.until("session/request_permission")
			}
			request := p.opensAnew("session/load")
			p.prompt("p2", "1")
			require.Equal(t, "session/cancel", p.agent.next().Get("method").Str)
			told := p.agent.next()
			require.EqualValues(t, 0, told.Get("id").Int())
			require.NotContains(t, told.Raw, "accepted")
			require.NotContains(t, told.Raw, "cancelled", "the user has not seen it")
			p.agent.send(`{"jsonrpc":"2.0","id":"p1","result":{"stopReason":"cancelled"}}`)
			require.Equal(t, "p2", p.agent.next().Get("id").Str)
			p.agent.result(request, `{}`)
			for m := p.editor.reply(); m.Get("id").Str != "open"; m = p.editor.reply() {
				require.Equal(t, "p1", m.Get("id").Str)
			}
		})
	}
}

// A dialog is withdrawn when its session is opened anew, and shown again behind the
// opening, with its tool call. The first one answers nothing any more.
func TestDialogInASessionOpenedAnew(t *testing.T) {
	for method, result := range openings {
		t.Run(method, func(t *testing.T) {
			p := start(t, Options{First: adapter.Permission})
			p.initialize(noForms)
			p.prompt("p1", "go")
			p.agent.next()
			p.agent.send(oneLine(grokAsks))
			require.Equal(t, "tool_call", p.editor.next().Get("params.update.sessionUpdate").Str)
			old := p.editor.until("session/request_permission")
			p.agent.result(p.opensAnew(method), result)
			require.Equal(t, old.Get("id").Str, p.editor.until("$/cancel_request").Get("params.requestId").Str)
			p.editor.result(old, selected("PostgreSQL"))
			require.Equal(t, "open", p.editor.reply().Get("id").Str)
			require.Equal(t, "tool_call", p.editor.next().Get("params.update.sessionUpdate").Str)
			again := p.editor.until("session/request_permission")
			require.NotEqual(t, old.Get("id").Str, again.Get("id").Str)
			p.editor.result(old, selected("PostgreSQL"))
			p.editor.result(again, selected("SQLite"))
			require.Equal(t, "SQLite", p.agent.next().Get(`result.answers.Which database\?.0`).Str)
		})
	}
}

// The words for Other are asked for in the new conversation, too.
func TestOtherInASessionOpenedAnew(t *testing.T) {
	p := start(t, Options{})
	p.initialize(noForms)
	p.prompt("p1", "go")
	p.agent.next()
	p.agent.send(oneLine(grokAsks))
	p.editor.result(p.editor.until("session/request_permission"), selected("__other__"))
	require.Equal(t, "p1", p.editor.reply().Get("id").Str)
	p.agent.result(p.opensAnew("session/load"), `{}`)
	require.Equal(t, "open", p.editor.reply().Get("id").Str)
	require.Contains(t, p.editor.said(), "Which database?")
	p.prompt("p2", "DuckDB")
	require.Equal(t, "DuckDB", p.agent.next().Get(`result.answers.Which database\?.0`).Str)
}

// An agent may ask before it opens a session: that waits for nothing.
func TestQuestionOfAnOpening(t *testing.T) {
	for name, first := range map[string]adapter.Rung{"conversation": adapter.Conversation, "dialog": adapter.Permission} {
		t.Run(name, func(t *testing.T) {
			p := start(t, Options{First: first})
			p.initialize(noForms)
			p.prompt("p1", "go")
			p.agent.next()
			p.agent.send(`{"jsonrpc":"2.0","id":"p1","result":{"stopReason":"end_turn"}}`)
			p.editor.reply()
			request := p.opensAnew("session/load")
			p.agent.send(oneLine(grokAsks))
			if first == adapter.Conversation {
				require.Contains(t, p.editor.said(), "Which database?")
				p.agent.send(history)
				require.Equal(t, "user_message_chunk", p.editor.until("session/update").Get("params.update.sessionUpdate").Str, "nothing is held meanwhile")
				p.prompt("p2", "2")
			} else {
				p.editor.result(p.editor.until("session/request_permission"), selected("SQLite"))
			}
			require.Equal(t, "SQLite", p.agent.next().Get(`result.answers.Which database\?.0`).Str)
			p.agent.result(request, `{}`)
			require.NotEmpty(t, p.editor.reply().Get("id").Str)
		})
	}
}

// A session that is forked goes on as it was.
func TestQuestionInAForkedSession(t *testing.T) {
	p := inConversation(t)
	p.agent.send(oneLine(grokAsks))
	p.editor.reply()
	p.agent.result(p.opensAnew("session/fork"), `{"sessionId":"s2"}`)
	require.Equal(t, "open", p.editor.reply().Get("id").Str)
	p.prompt("p2", "2")
	require.Equal(t, "SQLite", p.agent.next().Get(`result.answers.Which database\?.0`).Str)
	require.NotContains(t, strings.Join(drained(p.editor), "\n"), "still open")
}

// drained are the lines that are there to read now.
func drained(e *end) (lines []string) {
	for !e.quiet() {
		lines = append(lines, <-e.lines)
	}
	return lines
}
