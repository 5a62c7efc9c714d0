package proxy

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

// conducted is a proxy in the hands of a conductor.
type conducted struct {
	*end
	prefix string
	last   gjson.Result // the id of the last envelope
	ended  chan error
}

func conduct(t *testing.T, prefix string) *conducted {
	e, stream := newEnd(t)
	c := &conducted{end: e, prefix: prefix, ended: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.ended <- Chain(ctx, stream.In, stream.Out, Options{})
	}()
	t.Cleanup(func() {
		e.w.Close()
		<-done
		cancel()
		stream.In.(*io.PipeReader).Close()
	})
	return c
}

// initialize is what a conductor does first.
func (c *conducted) initialize(capabilities, result string) {
	c.t.Helper()
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"i","method":%q,"params":{"protocolVersion":1,"clientCapabilities":%s,"_meta":{"a":1}}}`, c.prefix+"proxy/initialize", capabilities))
	got := c.inner()
	require.Equal(c.t, "initialize", got.Get("method").Str)
	require.Equal(c.t, "1", got.Get("params.protocolVersion").Raw)
	require.Equal(c.t, `{"a":1}`, got.Get("params._meta").Raw)
	require.True(c.t, got.Get("params.clientCapabilities.elicitation.form").Exists())
	c.send(`{"jsonrpc":"2.0","id":` + c.last.Raw + `,"result":` + result + `}`)
	require.JSONEq(c.t, `{"jsonrpc":"2.0","id":"i","result":`+result+`}`, c.next().Raw)
}

// inner is the next message for the agent, out of its envelope; its id is kept.
func (c *conducted) inner() gjson.Result {
	c.t.Helper()
	m := c.next()
	require.Equal(c.t, c.prefix+"proxy/successor", m.Get("method").Str, m.Raw)
	c.last = m.Get("id")
	return m.Get("params")
}

// says is a message of the agent, in an envelope. Without an id it is a
// notification.
func (c *conducted) says(id, message string) {
	c.t.Helper()
	if id != "" {
		id = `"id":` + id + `,`
	}
	c.send(`{"jsonrpc":"2.0",` + id + `"method":"` + c.prefix + `proxy/successor","params":` + strings.TrimSuffix(message, "}") + `,"_meta":{"hop":1}}}`)
}

func TestChain(t *testing.T) {
	for _, prefix := range []string{"", "_"} {
		t.Run("prefix "+prefix, func(t *testing.T) {
			c := conduct(t, prefix)
			c.initialize(noForms, `{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`)
			// To the agent, and back.
			c.send(`{"jsonrpc":"2.0","id":7,"method":"session/new","params":{"cwd":"/x","mcpServers":[]}}`)
			require.JSONEq(t, `{"method":"session/new","params":{"cwd":"/x","mcpServers":[]}}`, c.inner().Raw)
			c.send(`{"jsonrpc":"2.0","id":` + c.last.Raw + `,"result":{"sessionId":"s1"}}`)
			require.JSONEq(t, `{"jsonrpc":"2.0","id":7,"result":{"sessionId":"s1"}}`, c.next().Raw)
			c.send(`{"jsonrpc":"2.0","method":"_ext/x","params":[1]}`)
			require.JSONEq(t, `{"method":"_ext/x","params":[1]}`, c.inner().Raw)
			// To the editor, and back.
			c.says("", `{"method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"}}}}`)
			require.JSONEq(t, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"}}}}`, c.next().Raw)
			c.says("8", `{"method":"fs/read_text_file","params":{"path":"/x"}}`)
			require.JSONEq(t, `{"jsonrpc":"2.0","id":8,"method":"fs/read_text_file","params":{"path":"/x"}}`, c.next().Raw)
			c.send(`{"jsonrpc":"2.0","id":8,"error":{"code":-1,"message":"no"}}`)
			require.JSONEq(t, `{"jsonrpc":"2.0","id":8,"error":{"code":-1,"message":"no"}}`, c.next().Raw)
			// A question.
			ask := gjson.Parse(oneLine(grokAsks))
			c.says("9", `{"method":"_x.ai/ask_user_question","params":`+ask.Get("params").Raw+`}`)
			c.result(c.until("session/request_permission"), selected("SQLite"))
			require.JSONEq(t, `{"jsonrpc":"2.0","id":9,"result":{"outcome":"accepted","answers":{"Which database?":["SQLite"]}}}`, c.reply().Raw)
		})
	}
}

// A cancel names a request on its wire.
func TestChainCancel(t *testing.T) {
	for _, prefix := range []string{"", "_"} {
		t.Run("prefix "+prefix, func(t *testing.T) {
			c := conduct(t, prefix)
			c.initialize(noForms, `{"protocolVersion":1}`)
			cancelled := func(id string) {
				cancel := `"method":"$/cancel_request","params":{"requestId":` + id + `}}`
				c.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"x/slow","params":{}}`)
				c.until(prefix + "proxy/successor")
				if c.send(`{"jsonrpc":"2.0",` + cancel); prefix == "" {
					require.JSONEq(t, `{"jsonrpc":"2.0",`+cancel, c.until("$/cancel_request").Raw)
				} else {
					require.JSONEq(t, "{"+cancel, c.until(prefix+"proxy/successor").Get("params").Raw)
				}
			}
			cancelled("7")
			// The agent withdraws a question.
			ask := gjson.Parse(oneLine(grokAsks))
			c.says("9", `{"method":"_x.ai/ask_user_question","params":`+ask.Get("params").Raw+`}`)
			request := c.until("session/request_permission")
			c.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":9}}`)
			var told, answered bool // in any order
			for !told || !answered {
				m := c.next()
				told = told || m.Get("method").Str == "$/cancel_request" && m.Get("params.requestId").Raw == request.Get("id").Raw
				answered = answered || !m.Get("method").Exists() && m.Get("id").Raw == "9"
			}
			cancelled("9") // it is free again
		})
	}
}

// A proxy without a successor is none.
func TestChainWithoutSuccessor(t *testing.T) {
	c := conduct(t, "")
	c.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)
	require.Contains(t, c.next().Get("error.message").Str, "proxy/initialize")
	c.send(`{"jsonrpc":"2.0","id":2,"method":"proxy/successor","params":{}}`)
	require.Equal(t, "-32602", c.next().Get("error.code").Raw)
}

// The end of the conductor is the end, and no error.
func TestChainEnds(t *testing.T) {
	c := conduct(t, "")
	c.initialize(noForms, `{"protocolVersion":1}`)
	require.NoError(t, c.w.Close())
	require.NoError(t, <-c.ended)
	c.ended <- nil
}
