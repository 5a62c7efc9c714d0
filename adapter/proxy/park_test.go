package proxy

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/internal/seen"
)

// inConversation is an editor that is asked in the conversation, with a prompt
// that runs.
func inConversation(t *testing.T) *proxied {
	return prompted(t, Options{First: adapter.Conversation})
}

// parked is inConversation with a question that waits for the next prompt.
func parked(t *testing.T) *proxied {
	p := inConversation(t)
	p.agent.send(oneLine(grokAsks))
	require.Equal(t, "p1", p.editor.reply().Get("id").Str)
	return p
}

func (p *proxied) prompt(id, text string) {
	p.Helper()
	p.editor.send(`{"jsonrpc":"2.0","id":"` + id + `","method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"` + text + `"}]}}`)
}

func chunk(text string) string {
	return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + text + `"}}}}`
}

// An editor of which nothing is known may tell its user of what it does not know: it is
// asked once, and its answer is the evidence then.
func TestUnknownIsAskedOnce(t *testing.T) {
	for name, asks := range map[string]int{"x": 1, "zed": 2} {
		t.Run(name, func(t *testing.T) {
			p, asked := startGuarding(t, Options{First: adapter.Conversation}), 0
			p.initialize(`{},"clientInfo":{"name":"` + name + `","version":"1"}`)
			for range 2 {
				p.agent.send(oneLine(grokAsks))
				p.editor.said()
				p.editor.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`)
				p.agent.until("session/cancel")
				p.agent.next() // the question is over
				p.agent.send(mark)
				for m := p.editor.next(); m.Raw != mark; m = p.editor.next() {
					if m.Get("method").Str == seen.Method {
						asked++
						p.editor.send(`{"jsonrpc":"2.0","id":` + m.Get("id").Raw + `,"error":{"code":-32601,"message":"unknown"}}`)
					}
				}
				p.editor.send(mark)
				p.agent.until("x/sync") // what the editor said has been read
			}
			require.Equal(t, asks, asked)
		})
	}
}

// What is held is bounded: what is more goes to the editor at once. Other
// sessions of the agent go on, and nothing is lost.
func TestHeld(t *testing.T) {
	t.Parallel()
	p := parked(t)
	big := strings.Repeat("x", 1<<20)
	other := strings.Replace(chunk("of another session"), `"s1"`, `"s2"`, 1)
	for i := range 12 {
		if i == 7 {
			p.agent.send(other)
			require.Equal(t, other, p.editor.next().Raw, "what is held is held, and that session alone")
		}
		p.agent.send(chunk(strconv.Itoa(i) + big))
	}
	p.agent.send(other)
	for i := range 12 {
		require.True(t, strings.HasPrefix(p.editor.said(), strconv.Itoa(i)+"x"), "chunk %d", i)
	}
	require.Equal(t, other, p.editor.next().Raw)
	p.prompt("p2", "2")
	require.Equal(t, "accepted", p.agent.next().Get("result.outcome").Str)
}

// An agent whose turn breaks down takes its question back and ends the prompt. The
// words that come between the two are for the question that is gone: they end with
// the error, unsent.
func TestParkWithdrawnByAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, gate := new(desk.Desk), make(chan struct{})
		defer d.Watch(func(e desk.Entry) {
			if e.State == desk.Settled {
				<-gate // the agent does not know yet
			}
		})()
		p := prompted(t, Options{First: adapter.Conversation, Desk: d})
		p.agent.send(oneLine(grokAsks))
		require.Equal(t, "p1", p.editor.reply().Get("id").Str)
		p.agent.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":0}}`)
		synctest.Wait()
		p.prompt("p2", "2")
		synctest.Wait()
		p.agent.send(`{"jsonrpc":"2.0","id":"p1","error":{"code":-32603,"message":"broken"}}`)
		synctest.Wait()
		close(gate)
		end := p.editor.reply()
		require.Equal(t, "p2", end.Get("id").Str)
		require.Equal(t, "broken", end.Get("error.message").Str, end.Raw)
	})
}

// The end of a question gives the agent one of the prompts that wait, the next when
// that has ended.
func TestPromptsBehindAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, gate := new(desk.Desk), make(chan struct{})
		defer d.Watch(func(e desk.Entry) {
			if e.State == desk.Settled {
				<-gate
			}
		})()
		p, _ := dialog(t, Options{Desk: d})
		p.prompt("p1", "one")
		synctest.Wait()
		p.prompt("p2", "two")
		synctest.Wait()
		close(gate)
		require.Equal(t, "cancelled", p.agent.next().Get("result.outcome").Str)
		require.Equal(t, "p1", p.agent.next().Get("id").Str)
		synctest.Wait()
		require.True(t, p.agent.quiet())
		p.agent.send(`{"jsonrpc":"2.0","id":"p1","result":{"stopReason":"end_turn"}}`)
		require.Equal(t, "p2", p.agent.next().Get("id").Str)
	})
}

// subAgentOf says that s1 has a sub-agent with a session of its own, s2.
const subAgentOf = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"subagent_update","sessionId":"s2","state":{"state":"running"}}}}`

func asksInS2(text string) string {
	return `{"jsonrpc":"2.0","id":"sub","method":"elicitation/create","params":{"sessionId":"s2","mode":"form","message":"` + text + `","requestedSchema":{"type":"object","properties":{"a":{"type":"string","enum":["SQLite","PostgreSQL"]}},"required":["a"]}}}`
}

// avante sends what was typed before along: what answers is what was typed now, in
// whatever order it comes. Where that cannot be told, the question is asked again
// with what was understood.
func TestParkWrapped(t *testing.T) {
	wrapped := func(id string, messages ...string) string {
		blocks := `{"type":"resource_link","name":"x","uri":"file:///src/x"}`
		for _, m := range messages {
			blocks += `,{"type":"text","text":"<previous_user_message>` + m + `</previous_user_message>"}`
		}
		return `{"jsonrpc":"2.0","id":"` + id + `","method":"session/prompt","params":{"sessionId":"s1","prompt":[` + blocks + `]}}`
	}
	p := initialized(t, Options{First: adapter.Conversation}, noForms)
	p.editor.send(wrapped("p1", "1", "hi two", "case"))
	require.Equal(t, "p1", p.agent.next().Get("id").Str)
	p.agent.send(oneLine(grokAsks))
	require.Equal(t, "p1", p.editor.reply().Get("id").Str)
	p.editor.send(wrapped("p2", "1", "hi two", "case"))
	again := p.editor.said()
	require.Contains(t, again, `not clear which one is your answer: "1", "hi two", "case"`)
	require.Contains(t, again, "Which database?")
	require.Equal(t, "p2", p.editor.reply().Get("id").Str)
	p.editor.send(wrapped("p3", "1", "2", "case"))
	require.Equal(t, "SQLite", p.agent.next().Get(`result.answers.Which database\?.0`).Str)
}
