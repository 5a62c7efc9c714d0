package proxy

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

// What Kimi Code 2.1.0 shows of a question.
const (
	kimiShows   = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call","toolCallId":"0:c1","title":"AskUserQuestion","kind":"other","status":"pending","content":[{"type":"content","content":{"type":"text","text":""}}]}}}`
	kimiWrites  = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call_update","toolCallId":"0:c1","status":"in_progress","content":[{"type":"content","content":{"type":"text","text":"{\"questions\":[{\"header\":\"Data"}}]}}}`
	kimiWrote   = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call_update","toolCallId":"0:c1","title":"Asking user questions","kind":"other","status":"in_progress","rawInput":{"questions":[]},"content":[{"type":"content","content":{"type":"text","text":"{\"questions\":[]}"}}]}}}`
	kimiHas     = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call_update","toolCallId":"0:c1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"{\"answers\":{\"Which database?\":\"SQLite\"}}"}}],"rawOutput":"x"}}}`
	kimiFails   = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call_update","toolCallId":"0:c1","status":"failed"}}}`
	kimiRuns    = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call","toolCallId":"0:c2","title":"Bash","kind":"execute","status":"in_progress","content":[{"type":"content","content":{"type":"text","text":"{\"command\":\"ls\"}"}}]}}}`
	kimiHasRun  = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call_update","toolCallId":"0:c2","status":"completed"}}}`
	kimiSays    = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Noted."}}}}`
	kimiHasNext = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call_update","toolCallId":"0:c1","status":"in_progress"}}}`
)

// The last that an editor shows of a question is the question and its answer: neither
// what the model wrote nor what it was told, and never a tool call without a name.
func TestAQuestionIsDrawnOnce(t *testing.T) {
	for _, capabilities := range []string{noForms, withForms} {
		p := initialized(t, Options{Agent: profileNamed("kimi")}, capabilities)
		for _, line := range []string{kimiShows, kimiWrites, kimiWrote, kimiAsks} {
			p.agent.send(line)
		}
		answer := func(m gjson.Result) {
			if m.Get("method").Str == "elicitation/create" {
				p.editor.result(m, `{"action":"accept","content":{"q0":"SQLite"}}`)
			} else {
				p.editor.result(m, selected("SQLite"))
			}
		}
		var titles []string
		for {
			m := p.editor.next()
			if m.Get("id").Exists() {
				answer(m)
				break
			}
			require.NotContains(t, m.Get("params.update.content").Raw, `questions`)
		}
		require.True(t, p.agent.next().Get("result").Exists())
		p.agent.send(kimiHasNext)
		p.agent.send(kimiHas)
		p.agent.send(kimiSays)
		for {
			m := p.editor.next()
			u := m.Get("params.update")
			if u.Get("sessionUpdate").Str == "agent_message_chunk" && u.Get("content.text").Str == "Noted." {
				break
			}
			require.NotContains(t, u.Raw, "answers")
			if u.Get("status").Str == "completed" {
				titles = append(titles, u.Get("title").Str)
			}
		}
		require.Equal(t, []string{"Database → SQLite"}, titles)
	}
}

// Other tool calls are as the agent shows them, and a question that fails says so.
func TestWhatIsNoQuestionIsDrawnAsItIs(t *testing.T) {
	p := initialized(t, Options{Agent: profileNamed("kimi")}, noForms)
	for _, line := range []string{kimiRuns, kimiHasRun, kimiSays} {
		p.agent.send(line)
		require.Equal(t, line, p.editor.next().Raw)
	}
	p.agent.send(kimiShows)
	p.agent.send(kimiAsks)
	p.editor.result(p.editor.until("session/request_permission"), selected("SQLite"))
	require.True(t, p.agent.next().Get("result").Exists())
	p.agent.send(kimiFails)
	for {
		if u := p.editor.next().Get("params.update"); u.Get("status").Str == "failed" {
			require.Equal(t, "Database → SQLite", u.Get("title").Str)
			break
		}
	}
	p.agent.send(kimiShows) // another one under the same id
	p.agent.send(kimiAsks)
	p.editor.result(p.editor.until("session/request_permission"), selected("SQLite"))
	require.True(t, p.agent.next().Get("result").Exists())
	p.agent.send(kimiShows)
	p.agent.send(kimiHas)
	for {
		if u := p.editor.next().Get("params.update"); u.Get("status").Str == "completed" && u.Get("rawOutput").Exists() {
			break
		}
	}
	p.agent.send(kimiHas) // of another turn, or of nothing that we know
	require.Equal(t, kimiHas, p.editor.next().Raw)
}
