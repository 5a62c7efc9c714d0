package proxy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

const cursorAsks = `{"jsonrpc":"2.0","id":9,"method":"cursor/ask_question","params":{"toolCallId":"c9","questions":[{"id":"q","prompt":"Which?","options":[{"id":"1","label":"A"},{"id":"2","label":"B"}]}]}}`

// opens opens a session as the editor.
func (p *proxied) opens(session string) {
	p.Helper()
	p.editor.send(`{"jsonrpc":"2.0","id":"new","method":"session/new","params":{"cwd":"/x","mcpServers":[]}}`)
	p.agent.result(p.agent.until("session/new"), `{"sessionId":"`+session+`"}`)
	require.Equal(p, "new", p.editor.reply().Get("id").Str)
}

// A question that names no session belongs to that of its tool call.
func TestQuestionWithoutSession(t *testing.T) {
	p := initialized(t, Options{}, noForms)
	p.agent.send(cursorAsks)
	require.Contains(t, p.agent.next().Get("error.message").Str, "sessionId", "there is no session yet")

	p.opens("s1")
	p.agent.send(cursorAsks)
	request := p.editor.until("session/request_permission")
	require.Equal(t, "s1", request.Get("params.sessionId").Str, "the only one there is")
	p.editor.result(request, selected("B"))
	require.Equal(t, "2", p.agent.next().Get("result.outcome.answers.0.selectedOptionIds.0").Str)

	p.opens("s2")
	p.agent.send(cursorAsks)
	require.Contains(t, p.agent.next().Get("error.message").Str, "sessionId", "it could be either")

	p.agent.send(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s2","update":{"sessionUpdate":"tool_call","toolCallId":"c9","title":"ask"}}}`, cursorAsks)
	request = p.editor.until("session/request_permission")
	require.Equal(t, "s2", request.Get("params.sessionId").Str)
	p.editor.result(request, selected("A"))
	require.Equal(t, "1", p.agent.next().Get("result.outcome.answers.0.selectedOptionIds.0").Str)
}

// What an agent wants to know before there is a session is between it and an
// editor with forms.
func TestFormWithoutSession(t *testing.T) {
	form := `{"jsonrpc":"2.0","id":9,"method":"elicitation/create","params":{"requestId":"init","mode":"form","message":"Which account?","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}}`
	p := initialized(t, Options{}, withForms)
	p.agent.send(form)
	require.Equal(t, form, p.editor.next().Raw)
	answer := `{"jsonrpc":"2.0","id":9,"result":{"action":"accept","content":{"a":"b"}}}`
	p.editor.send(answer)
	require.Equal(t, answer, p.agent.next().Raw)

	p = initialized(t, Options{}, noForms)
	p.agent.send(form)
	require.Contains(t, p.agent.next().Get("error.message").Str, "sessionId")
}

// An editor with forms gets those that cannot be read here, too.
func TestFormOfUnknownFields(t *testing.T) {
	for _, properties := range []string{
		`{"a":{"type":["string","null"]}}`, `{"a":{"type":"object","properties":{}}}`, `{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}`,
	} {
		form := `{"jsonrpc":"2.0","id":9,"method":"elicitation/create","params":{"sessionId":"s1","mode":"form","message":"?","requestedSchema":{"type":"object","properties":` + properties + `}}}`
		p := initialized(t, Options{}, withForms)
		p.agent.send(form)
		require.Equal(t, form, p.editor.next().Raw)
		answer := `{"jsonrpc":"2.0","id":9,"result":{"action":"accept","content":{"a":null}}}`
		p.editor.send(answer)
		require.Equal(t, answer, p.agent.next().Raw)

		p = initialized(t, Options{}, noForms)
		p.agent.send(form)
		require.Contains(t, p.agent.next().Get("error.message").Str, "unknown type")
	}
	p := initialized(t, Options{}, `{"elicitation":{"form":{},"url":{}}}`)
	p.agent.send(`{"jsonrpc":"2.0","id":9,"method":"elicitation/create","params":{"sessionId":"s1","mode":"url","message":"?","url":"javascript:alert(1)","elicitationId":"e"}}`)
	require.Contains(t, p.agent.next().Get("error.message").Str, "address", "no form")
}

// A withdrawal names its request in any spelling.
func TestWithdrawnInAnotherSpelling(t *testing.T) {
	p := initialized(t, Options{}, noForms)
	p.opens("s1")
	for _, ids := range [][2]string{{`"a\/b"`, `"a/b"`}, {`1.0`, `1`}, {`7`, `7e0`}} {
		p.agent.send(`{"jsonrpc":"2.0","id":` + ids[0] + `,"method":"cursor/ask_question","params":{"toolCallId":"c","questions":[{"id":"q","prompt":"Which?","options":[{"id":"1","label":"A"},{"id":"2","label":"B"}]}]}}`)
		p.editor.until("session/request_permission")
		p.agent.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":` + ids[1] + `}}`)
		answer := p.agent.next()
		require.Equal(t, int64(ndjson.Cancelled), answer.Get("error.code").Int())
		require.Equal(t, ids[0], answer.Get("id").Raw)
		p.editor.until("$/cancel_request")
	}
}
