package proxy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

// answeredInConversation has a question that the prompt p2 answered: the agent
// knows the turn as p1.
func answeredInConversation(t *testing.T) *proxied {
	p := parked(t)
	p.prompt("p2", "2")
	require.True(t, p.agent.next().Get("result").Exists())
	return p
}

// The editor takes a prompt back that the agent knows under another id.
func TestCancelRequestOfPrompt(t *testing.T) {
	p := answeredInConversation(t)
	p.editor.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"p2","_meta":{"a":1}}}`)
	require.JSONEq(t, `{"requestId":"p1","_meta":{"a":1}}`, p.agent.next().Get("params").Raw)
	p.agent.send(`{"jsonrpc":"2.0","id":"p1","result":{"stopReason":"cancelled"}}`)
	ended := p.editor.reply()
	require.Equal(t, "p2", ended.Get("id").Str)
	require.Equal(t, "cancelled", ended.Get("result.stopReason").Str)
	line := `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"else"}}`
	p.editor.send(line)
	require.Equal(t, line, p.agent.next().Raw)
}

// The editor takes a prompt back that waits.
func TestCancelRequestOfWaitingPrompt(t *testing.T) {
	p := parkWithdrawn(t)
	p.prompt("p2", "2")
	p.editor.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"p2"}}`)
	ended := p.editor.reply()
	require.Equal(t, "p2", ended.Get("id").Str)
	require.Equal(t, "cancelled", ended.Get("result.stopReason").Str)
	p.agent.send(`{"jsonrpc":"2.0","id":"p1","result":{"stopReason":"end_turn"}}`)
	p.prompt("p3", "on")
	require.Equal(t, "p3", p.agent.next().Get("id").Str, "the agent never hears of it")
}

// A request that is held while no prompt runs is withdrawn before the editor sees
// it.
func TestWithdrawnWhileHeld(t *testing.T) {
	p := parked(t)
	p.agent.send(chunk("one"),
		`{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"t","title":"rm"},"options":[]}}`,
		chunk("two"), `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}`)
	answer := p.agent.next()
	require.Equal(t, int64(7), answer.Get("id").Int())
	require.EqualValues(t, ndjson.Cancelled, answer.Get("error.code").Int())
	p.prompt("p2", "2")
	require.Equal(t, "one", p.editor.next().Get("params.update.content.text").Str)
	require.Equal(t, "two", p.editor.next().Get("params.update.content.text").Str)
}

// Prompts that only the proxy knows end with their session.
func TestCloseSessionEndsPrompts(t *testing.T) {
	t.Run("under another id", func(t *testing.T) {
		p := answeredInConversation(t)
		p.editor.send(`{"jsonrpc":"2.0","id":"close","method":"session/close","params":{"sessionId":"s1"}}`)
		require.Equal(t, "session/close", p.agent.next().Get("method").Str)
		ended := p.editor.reply()
		require.Equal(t, "p2", ended.Get("id").Str)
		require.Equal(t, "cancelled", ended.Get("result.stopReason").Str)
		p.agent.send(`{"jsonrpc":"2.0","id":"p1","result":{"stopReason":"cancelled"}}`, `{"jsonrpc":"2.0","id":"close","result":{}}`)
		require.Equal(t, "close", p.editor.reply().Get("id").Str, "p1 has ended before")
	})
	t.Run("waiting", func(t *testing.T) {
		p := parkWithdrawn(t)
		p.prompt("p2", "2")
		p.editor.send(`{"jsonrpc":"2.0","id":"close","method":"session/close","params":{"sessionId":"s1"}}`)
		require.Equal(t, "session/close", p.agent.next().Get("method").Str)
		require.Equal(t, "p2", p.editor.reply().Get("id").Str)
	})
	t.Run("the agent's own", func(t *testing.T) {
		p := inConversation(t)
		p.editor.send(`{"jsonrpc":"2.0","id":"close","method":"session/close","params":{"sessionId":"s1"}}`)
		require.Equal(t, "session/close", p.agent.next().Get("method").Str)
		answer := `{"jsonrpc":"2.0","id":"p1","result":{"stopReason":"cancelled","_meta":{"mine":1}}}`
		p.agent.send(answer)
		require.Equal(t, answer, p.editor.reply().Raw)
	})
}

// An agent may write an id in another way than the editor.
func TestAnswerInAnotherSpelling(t *testing.T) {
	p := initialized(t, Options{First: 3}, noForms)
	p.editor.send(`{"jsonrpc":"2.0","id":"a\/1","method":"session/prompt","params":{"sessionId":"s1","prompt":[]}}`)
	p.agent.next()
	p.agent.send(`{"jsonrpc":"2.0","id":"a/1","result":{"stopReason":"end_turn"}}`)
	require.Equal(t, "a/1", p.editor.reply().Get("id").Str)
	p.agent.send(oneLine(grokAsks)) // no prompt runs: the next one answers, and ends with that
	p.editor.said()
	p.editor.send(`{"jsonrpc":"2.0","id":12345678901234567890,"method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"2"}]}}`)
	require.True(t, p.agent.next().Get("result").Exists())
	require.Equal(t, "12345678901234567890", p.editor.reply().Get("id").Raw)
}
