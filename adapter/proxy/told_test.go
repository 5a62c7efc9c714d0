package proxy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
)

// What the agent said before it asks is told to people at the desk, as it said it, and
// what it said before the prompt is not.
func TestPermissionsTellWhatWasSaid(t *testing.T) {
	d := new(desk.Desk)
	p := &permitted{start(t, Options{Desk: d}), d, make(chan desk.Entry, 1000)}
	t.Cleanup(d.Watch(func(e desk.Entry) { p.entries <- e }))
	p.initialize(noForms)
	p.editor.send(`{"jsonrpc":"2.0","id":"new","method":"session/new","params":{"cwd":"/x","mcpServers":[]}}`)
	p.agent.send(`{"jsonrpc":"2.0","id":` + p.agent.until("session/new").Get("id").Raw + `,"result":{"sessionId":"s1"}}`)
	require.Equal(t, "new", p.editor.reply().Get("id").Str)
	p.prompt("p1", "go")
	p.agent.until("session/prompt")
	say := func(text string) {
		p.agent.send(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + text + `"}}}}`)
	}
	say("I will run ")
	say("the build.")
	told := p.asks(mayRun).About.Told()
	require.Equal(t, "go", told.Prompt)
	require.Equal(t, "I will run the build.", told.Said)
}
