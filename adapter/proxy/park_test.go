package proxy

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
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

// answers has a prompt answer the question.
func (p *proxied) answers(id, text, want string) {
	p.Helper()
	p.prompt(id, text)
	require.Equal(p, want, p.agent.next().Get(`result.answers.Which database\?.0`).Str)
}

// ends has the agent end a prompt, as which the editor sees the end of another.
func (p *proxied) ends(id, reason, at string) {
	p.Helper()
	p.agent.send(`{"jsonrpc":"2.0","id":"` + id + `","result":{"stopReason":"` + reason + `"}}`)
	require.Equal(p, at, p.editor.reply().Get("id").Str)
}

func (p *proxied) prompt(id, text string) {
	p.Helper()
	p.editor.send(`{"jsonrpc":"2.0","id":"` + id + `","method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"` + text + `"}]}}`)
}

func chunk(text string) string {
	return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + text + `"}}}}`
}

// An editor without a name is not asked behind a question before its first prompt, which
// may tell that it would show that to its user.
func TestNamelessIsNotAskedBeforeItsPrompt(t *testing.T) {
	p := startGuarding(t, Options{First: adapter.Conversation})
	p.initialize(noForms)
	p.agent.send(oneLine(grokAsks))
	p.editor.said()
	p.agent.send(mark)
	for m := p.editor.next(); m.Raw != mark; m = p.editor.next() {
		require.NotEqual(t, seen.Method, m.Get("method").Str)
	}
	p.prompt("p1", "1") // too early: it is asked again
	p.editor.until(seen.Method)
}

// An editor of which nothing is known may tell its user of what it does not know: it is
// asked once, and its answer is the evidence then.
func TestUnknownIsAskedOnce(t *testing.T) {
	for name, asks := range map[string]int{"x": 1, "zed": 2} {
		t.Run(name, func(t *testing.T) {
			p := startGuarding(t, Options{First: adapter.Conversation})
			p.initialize(`{},"clientInfo":{"name":"` + name + `","version":"1"}`)
			asked := 0
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
			}
			require.Equal(t, asks, asked)
		})
	}
}

// The question stands in the conversation, the prompt ends, and the next one is
// the answer. The turn goes on inside that.
func TestPark(t *testing.T) {
	p := inConversation(t)
	p.agent.send(chunk("before"), oneLine(grokAsks))
	require.Equal(t, "before", p.editor.said())
	require.Contains(t, p.editor.said(), "Which database?")
	end := p.editor.reply()
	require.Equal(t, "p1", end.Get("id").Str)
	require.Equal(t, "end_turn", end.Get("result.stopReason").Str)
	require.Equal(t, "c1", end.Get("result._meta.acp-bridge.waitingFor").Str)

	commands := `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"available_commands_update"}}}`
	p.agent.send(chunk("meanwhile"), commands)
	require.Equal(t, commands, p.editor.next().Raw, "what belongs to no turn is not held")

	p.prompt("p2", "2")
	require.Equal(t, "meanwhile", p.editor.said(), "what was held comes in the next prompt")
	require.JSONEq(t, `{"jsonrpc":"2.0","id":0,"result":{"outcome":"accepted","answers":{"Which database?":["SQLite"]}}}`, p.agent.next().Raw)
	p.agent.send(chunk("thanks"), `{"jsonrpc":"2.0","id":"p1","result":{"stopReason":"end_turn","usage":{"n":1}}}`)
	require.Equal(t, "thanks", p.editor.said())
	require.JSONEq(t, `{"jsonrpc":"2.0","id":"p2","result":{"stopReason":"end_turn","usage":{"n":1}}}`, p.editor.reply().Raw)

	p.prompt("p3", "more")
	require.Equal(t, "p3", p.agent.next().Get("id").Str, "an ordinary prompt again")
	p.ends("p3", "end_turn", "p3")
}

// A question that comes while no prompt runs is answered by the next, which ends
// with it.
func TestParkWithoutTurn(t *testing.T) {
	p := initialized(t, Options{First: adapter.Conversation}, noForms)
	p.agent.send(oneLine(grokAsks))
	require.Contains(t, p.editor.said(), "Which database?")
	p.answers("p1", "sqlite", "SQLite")
	require.JSONEq(t, `{"jsonrpc":"2.0","id":"p1","result":{"stopReason":"end_turn"}}`, p.editor.reply().Raw)
}

// A cancel ends a parked question; the next prompt is ordinary, and goes to the
// agent when that has ended the turn.
func TestParkCancelled(t *testing.T) {
	p := parked(t)
	p.editor.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`)
	p.prompt("p2", "2")
	require.Equal(t, "session/cancel", p.agent.next().Get("method").Str)
	require.Equal(t, "cancelled", p.agent.next().Get("result.outcome").Str)
	require.True(t, p.agent.quiet(), "the cancelled turn has not ended")
	p.agent.send(`{"jsonrpc":"2.0","id":"p1","result":{"stopReason":"cancelled"}}`)
	require.Equal(t, "p2", p.agent.next().Get("id").Str)
	p.ends("p2", "end_turn", "p2") // the end of the cancelled turn ends no prompt
}

// The word cancel dismisses the question.
func TestParkDismissed(t *testing.T) {
	p := parked(t)
	p.prompt("p2", "cancel")
	require.Equal(t, "cancelled", p.agent.next().Get("result.outcome").Str)
	p.ends("p1", "end_turn", "p2")
}

// Words that are unclear show the question again, in the prompt that they were.
func TestParkAgain(t *testing.T) {
	p := parked(t)
	p.prompt("p2", "1,2")
	require.Contains(t, p.editor.said(), "Which database?")
	require.Equal(t, "p2", p.editor.reply().Get("id").Str)
	p.answers("p3", "1", "PostgreSQL")
	p.ends("p1", "end_turn", "p3")
}

// The agent takes a parked question back: the user is told, and the next prompt
// is for the agent, when it has ended its turn.
func TestParkWithdrawn(t *testing.T) {
	p := parkWithdrawn(t)
	p.prompt("p2", "2")
	p.agent.send(chunk("on"), `{"jsonrpc":"2.0","id":"p1","result":{"stopReason":"end_turn"}}`)
	require.Equal(t, "p2", p.agent.next().Get("id").Str)
	p.ends("p2", "end_turn", "p2")
}

// A turn that fails behind such a question fails the prompt that waits for it,
// unsent. The one after that is for the agent.
func TestParkWithdrawnFails(t *testing.T) {
	p := parkWithdrawn(t)
	p.prompt("p2", "2")
	p.prompt("p3", "3")
	p.agent.send(`{"jsonrpc":"2.0","id":"p1","error":{"code":-32603,"message":"it died"}}`)
	failed := p.editor.reply()
	require.Equal(t, "p2", failed.Get("id").Str)
	require.Equal(t, "it died", failed.Get("error.message").Str)
	require.Equal(t, "p3", p.agent.next().Get("id").Str)
}

// A prompt that waits behind such a question ends with a cancel.
func TestParkWithdrawnCancelled(t *testing.T) {
	p := parkWithdrawn(t)
	p.prompt("p2", "2")
	p.editor.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`)
	require.Equal(t, "session/cancel", p.agent.next().Get("method").Str)
	require.Equal(t, "cancelled", p.editor.reply().Get("result.stopReason").Str)
}

// parkWithdrawn has a question in the conversation that the agent took back; its
// turn goes on.
func parkWithdrawn(t *testing.T) *proxied {
	p := parked(t)
	p.agent.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":0}}`)
	require.Contains(t, p.editor.said(), "withdrawn")
	require.EqualValues(t, ndjson.Cancelled, p.agent.next().Get("error.code").Int())
	return p
}

// Words for a question that the agent took back answer no other one: that is shown
// again, alone, and the next words are its answer.
func TestParkAfterWithdrawn(t *testing.T) {
	p := parked(t)
	p.agent.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":0}}`)
	require.EqualValues(t, ndjson.Cancelled, p.agent.next().Get("error.code").Int())
	require.Contains(t, p.editor.said(), "withdrawn")
	p.agent.send(strings.Replace(strings.ReplaceAll(oneLine(grokAsks), "Which database?", "Delete it?"), `"id":0`, `"id":1`, 1))
	require.Contains(t, p.editor.said(), "Delete it?")
	p.prompt("p2", "2")
	again := p.editor.said()
	require.Contains(t, again, "was not taken as an answer")
	require.Contains(t, again, "Delete it?")
	require.Equal(t, "p2", p.editor.reply().Get("id").Str)
	p.prompt("p3", "1")
	reply := p.agent.next()
	require.EqualValues(t, 1, reply.Get("id").Int())
	require.Equal(t, "PostgreSQL", reply.Get(`result.answers.Delete it\?.0`).Str)
}

// A prompt that comes while the editor shows a question takes its place.
func TestSupersede(t *testing.T) {
	p := prompted(t, Options{})
	p.agent.send(oneLine(grokAsks))
	request := p.editor.until("session/request_permission")
	p.prompt("p2", "something else")
	require.Equal(t, "session/cancel", p.agent.next().Get("method").Str)
	require.Equal(t, "cancelled", p.agent.next().Get("result.outcome").Str)
	require.Equal(t, request.Get("id").Str, p.editor.until("$/cancel_request").Get("params.requestId").Str)
	p.ends("p1", "cancelled", "p1")
	require.Equal(t, "p2", p.agent.next().Get("id").Str)
}

// What is held is bounded: what is more goes to the editor at once. Other
// sessions of the agent go on, and nothing is lost.
func TestHeld(t *testing.T) {
	t.Parallel()
	p := parked(t)
	big := strings.Repeat("x", 1<<20)
	for i := range 7 {
		p.agent.send(chunk(strconv.Itoa(i) + big))
	}
	other := strings.Replace(chunk("of another session"), `"s1"`, `"s2"`, 1)
	p.agent.send(other)
	require.Equal(t, other, p.editor.next().Raw, "what is held is held, and that session alone")
	for i := range 5 {
		p.agent.send(chunk(strconv.Itoa(7+i) + big))
	}
	p.agent.send(other)
	for i := range 12 {
		require.True(t, strings.HasPrefix(p.editor.said(), strconv.Itoa(i)+"x"), "chunk %d", i)
	}
	require.Equal(t, other, p.editor.next().Raw)
	p.prompt("p2", "2")
	require.Equal(t, "accepted", p.agent.next().Get("result.outcome").Str)
}

func TestParkedWhenTheAgentDies(t *testing.T) {
	p := parked(t)
	require.NoError(t, p.agent.w.Close())
	require.ErrorIs(t, <-p.ended, errAgentGone)
}

func TestParkedWhenTheEditorGoes(t *testing.T) {
	p := parked(t)
	p.cancel(context.Canceled)
	require.ErrorIs(t, <-p.ended, context.Canceled)
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

// A sub-agent's question waits for its turn in the conversation in which the user
// types: words answer what stands there alone.
func TestParkOneAtATimeWithSubAgents(t *testing.T) {
	synctest.Test(t, testParkOneAtATimeWithSubAgents)
}

func testParkOneAtATimeWithSubAgents(t *testing.T) {
	p := inConversation(t)
	p.agent.send(subAgentOf, oneLine(grokAsks))
	require.Contains(t, p.editor.said(), "Which database?")
	require.Equal(t, "p1", p.editor.reply().Get("id").Str)
	p.agent.send(asksInS2("Delete which?"))
	synctest.Wait() // it has come as far as it can
	p.prompt("p2", "SQLite")
	require.JSONEq(t, `{"jsonrpc":"2.0","id":0,"result":{"outcome":"accepted","answers":{"Which database?":["SQLite"]}}}`, p.agent.next().Raw)
	require.Contains(t, p.editor.said(), "Delete which?")
	require.Equal(t, "p2", p.editor.reply().Get("id").Str)
	p.prompt("p3", "PostgreSQL")
	require.JSONEq(t, `{"jsonrpc":"2.0","id":"sub","result":{"action":"accept","content":{"a":"PostgreSQL"}}}`, p.agent.next().Raw)
	p.ends("p1", "end_turn", "p3")
}

// A prompt that answers a sub-agent's question while no turn runs ends with it.
func TestParkOfASubAgentWithoutTurn(t *testing.T) {
	p := initialized(t, Options{First: adapter.Conversation}, noForms)
	p.agent.send(subAgentOf, asksInS2("Delete which?"))
	require.Contains(t, p.editor.said(), "Delete which?")
	p.prompt("p1", "1")
	require.Equal(t, "SQLite", p.agent.next().Get("result.content.a").Str)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":"p1","result":{"stopReason":"end_turn"}}`, p.editor.reply().Raw)
}

// What ends the questions of a session ends those of its sub-agents, too, however
// they are asked.
func TestSubAgentsQuestionsEndWithTheSession(t *testing.T) {
	for _, rung := range []adapter.Rung{adapter.Permission, adapter.Conversation} {
		for what, line := range map[string]string{
			"cancel": `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`,
			"own":    `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s2"}}`,
			"close":  `{"jsonrpc":"2.0","id":"c","method":"session/close","params":{"sessionId":"s1"}}`,
			"delete": `{"jsonrpc":"2.0","id":"c","method":"session/delete","params":{"sessionId":"s1"}}`,
		} {
			p := prompted(t, Options{First: rung})
			p.agent.send(subAgentOf, asksInS2("Delete which?"))
			if rung == adapter.Conversation {
				require.Equal(t, "p1", p.editor.reply().Get("id").Str)
			} else {
				require.Equal(t, "s2", p.editor.until("session/request_permission").Get("params.sessionId").Str)
			}
			p.editor.send(line)
			reply := p.agent.reply()
			require.Equal(t, "sub", reply.Get("id").Str, what)
			require.Equal(t, what == "close", reply.Get("error").Exists(), "%s: nobody has cancelled it: %s", what, reply.Raw)
		}
	}
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

// Behind the proxy, too, what goose puts behind a pick spoils it not.
func TestParkWithContext(t *testing.T) {
	p := parked(t)
	p.prompt("p2", `2"},{"type":"text","text":"<turn-context>\n<current-time>now</current-time>\n</turn-context>`)
	require.Equal(t, "SQLite", p.agent.next().Get(`result.answers.Which database\?.0`).Str)
}
