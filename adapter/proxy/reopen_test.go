package proxy

import (
	"net/http"
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
			p := parked(t)
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
			p.answers("p2", "2", "SQLite")
			p.ends("p1", "end_turn", "p2")
		})
	}
}

// It does so, too, if the agent does not open the session.
func TestQuestionInASessionNotOpened(t *testing.T) {
	p := parked(t)
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
			p := prompted(t, Options{First: first})
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
			p := prompted(t, Options{First: adapter.Permission})
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
	p := prompted(t, Options{})
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
			p := prompted(t, Options{First: first})
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
	p := parked(t)
	p.agent.result(p.opensAnew("session/fork"), `{"sessionId":"s2"}`)
	require.Equal(t, "open", p.editor.reply().Get("id").Str)
	p.answers("p2", "2", "SQLite")
	require.NotContains(t, strings.Join(drained(p.editor), "\n"), "still open")
}

// drained are the lines that are there to read now.
func drained(e *end) (lines []string) {
	for !e.quiet() {
		lines = append(lines, <-e.lines)
	}
	return lines
}

// loadsTool loads the session anew, and returns the tool that the agent gets for it.
func (a *toolAgent) loadsTool() (request gjson.Result, url string) {
	request = a.opensAnew("session/load")
	return request, request.Get("params.mcpServers.0.url").Str
}

// there reports whether a tool is.
func there(t *testing.T, url string) bool {
	once := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := once.Get(url) // which it does not take
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	return r.StatusCode != http.StatusNotFound
}

// A close ends the tools that were there when it was sent: one of a load behind it
// stays.
func TestToolOfASessionClosedAndLoaded(t *testing.T) {
	a := withTool(t)
	a.editor.send(`{"jsonrpc":"2.0","id":"close","method":"session/close","params":{"sessionId":"s1"}}`)
	closes := a.agent.until("session/close")
	loads, url := a.loadsTool()
	a.agent.result(closes, `{}`)
	a.agent.result(loads, `{}`)
	require.Equal(t, "close", a.editor.reply().Get("id").Str)
	require.Equal(t, "open", a.editor.reply().Get("id").Str)
	require.True(t, there(t, url))
	require.False(t, there(t, a.url))
}

// A session that is loaded again and again has the tool that the agent uses, and the
// newest.
func TestToolsOfASessionLoadedAgain(t *testing.T) {
	a := withTool(t)
	var urls []string
	for range 3 {
		loads, url := a.loadsTool()
		urls = append(urls, url)
		a.agent.result(loads, `{}`)
		require.Equal(t, "open", a.editor.reply().Get("id").Str)
	}
	got := a.use(nil)
	a.editor.result(a.editor.until("session/request_permission"), selected("SQLite"))
	require.Contains(t, await(t, got), "SQLite", "the agent has stayed with its first")
	require.False(t, there(t, urls[0]))
	require.False(t, there(t, urls[1]))
	require.True(t, there(t, urls[2]), "and now has come to its last")
	a.prompt("p1", "go")
	a.agent.next()
	a.agent.send(`{"jsonrpc":"2.0","id":"p1","result":{"stopReason":"end_turn"}}`)
	a.editor.reply()
	require.False(t, there(t, a.url), "which takes the place of the first")
	require.True(t, there(t, urls[2]))
}

// A question of the tool that is open when its session is loaded anew is shown again.
func TestToolsQuestionInASessionOpenedAnew(t *testing.T) {
	a := withTool(t)
	got := a.use(nil)
	a.editor.until("session/request_permission")
	loads, url := a.loadsTool()
	require.True(t, there(t, url))
	a.agent.result(loads, `{}`)
	a.editor.reply()
	a.editor.result(a.editor.until("session/request_permission"), selected("SQLite"))
	require.Contains(t, await(t, got), "SQLite")
}
