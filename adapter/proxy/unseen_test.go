package proxy

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter"
)

// In an editor that shows nothing between prompts a question that comes then is read by
// nobody: the next message is no answer to it, and shows it.
func TestParkUnseen(t *testing.T) {
	p := initialized(t, Options{}, blind)
	p.agent.send(oneLine(grokAsks))
	require.Contains(t, p.editor.said(), "Which database?")
	p.prompt("p1", "hello?")
	require.Contains(t, p.editor.said(), "not taken as an answer")
	require.Equal(t, "p1", p.editor.reply().Get("id").Str)
	p.prompt("p2", "sqlite")
	require.Equal(t, "SQLite", p.agent.next().Get(`result.answers.Which database\?.0`).Str)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":"p2","result":{"stopReason":"end_turn"}}`, p.editor.reply().Raw)
}

// Nor does it show a request then, of the agent or of ours: it gets it with its next prompt,
// which goes to the agent as it would.
func TestRequestsUnseen(t *testing.T) {
	const permission = `{"jsonrpc":"2.0","id":"a1","method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"t1","title":"make"},"options":[{"optionId":"y","name":"Allow","kind":"allow_once"},{"optionId":"n","name":"Reject","kind":"reject_once"}]}}`
	const plan = `{"jsonrpc":"2.0","id":"a1","method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"t1","kind":"switch_mode","title":"Ready to code?","content":[{"type":"content","content":{"type":"text","text":"# A plan"}}]},"options":[{"optionId":"y","name":"Allow","kind":"allow_once"},{"optionId":"n","name":"Reject","kind":"reject_once"}]}}`
	for name, c := range map[string]struct {
		first  adapter.Rung
		asks   string
		before int
	}{
		"a permission":            {0, permission, 0},
		"a plan":                  {0, plan, 1},
		"a question with buttons": {adapter.Permission, oneLine(grokAsks), 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := initialized(t, Options{First: c.first}, blind)
				p.prompt("p0", "go")
				require.Equal(t, "p0", p.agent.next().Get("id").Str)
				p.ends("p0")
				p.agent.send(c.asks, chunk("meanwhile"))
				synctest.Wait()
				for !p.editor.quiet() {
					require.NotEqual(t, "session/request_permission", p.editor.next().Get("method").Str)
				}
				p.prompt("p1", "hello?")
				for range c.before {
					require.Contains(t, p.editor.said(), "# A plan")
				}
				r := p.editor.until("session/request_permission")
				require.Equal(t, "p1", p.agent.next().Get("id").Str)
				p.editor.result(r, `{"outcome":{"outcome":"selected","optionId":"`+r.Get("params.options.0.optionId").Str+`"}}`)
				require.Contains(t, p.agent.next().Get("result.outcome").Raw, "e")
				p.ends("p1")
			})
		})
	}
}

// ends has the agent end a prompt.
func (p *proxied) ends(id string) {
	p.Helper()
	p.agent.send(`{"jsonrpc":"2.0","id":"` + id + `","result":{"stopReason":"end_turn"}}`)
	require.Equal(p, id, p.editor.reply().Get("id").Str)
}
