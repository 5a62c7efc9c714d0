package proxy

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// opensAnew begins to open the session anew, and returns the agent's end of it.
func (p *proxied) opensAnew(method string) gjson.Result {
	p.Helper()
	p.editor.send(`{"jsonrpc":"2.0","id":"open","method":"` + method + `","params":{"sessionId":"s1","cwd":"/x","mcpServers":[]}}`)
	return p.agent.until(method)
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
	r := acptest.Must(once.Get(url)) // which it does not take
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
	require.Contains(t, <-got, "SQLite", "the agent has stayed with its first")
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
	require.Contains(t, <-got, "SQLite")
}
