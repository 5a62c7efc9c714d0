package proxy

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A session that the agent does not close goes on, with its question tool.
func TestRefusedClose(t *testing.T) {
	a := withTool(t)
	a.editor.send(`{"jsonrpc":"2.0","id":"close","method":"session/close","params":{"sessionId":"s1"}}`)
	a.agent.send(strings.Replace(`{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"Method not found"}}`, "ID", a.agent.until("session/close").Get("id").Raw, 1))
	require.EqualValues(t, -32601, a.editor.reply().Get("error.code").Int())
	got := a.use(nil)
	a.editor.result(a.editor.until("session/request_permission"), selected("SQLite"))
	require.Contains(t, <-got, "SQLite")
}

// slowly writes a second after it is told to.
type slowly struct {
	io.Writer
	wrote strings.Builder
}

func (s *slowly) Write(b []byte) (int, error) {
	time.Sleep(time.Second)
	s.wrote.Write(b)
	return s.Writer.Write(b)
}

// An answer that the editor gave before it left reaches the agent.
func TestLastAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var agent slowly
		p := startWith(t, func(ctx context.Context, e, a Stream) error {
			agent.Writer = a.Out
			return Relay(ctx, e, Stream{a.In, &agent}, Options{})
		})
		p.initialize(noForms)
		p.agent.send(oneLine(grokAsks))
		p.editor.result(p.editor.until("session/request_permission"), selected("SQLite"))
		p.editor.w.Close()
		require.NoError(t, <-p.ended)
		require.Contains(t, agent.wrote.String(), `"Which database?":["SQLite"]`)
	})
}

// What was answered at the end is not answered again by an agent that is late.
func TestOneAnswerAtTheEnd(t *testing.T) {
	var editor, agent bytes.Buffer
	p := newProxy(t.Context(), &editor, &agent, Options{})
	require.NoError(t, p.pass([]byte(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/x"}}`+"\n"), p.agent, p.fromEditor))
	p.end(errEditorGone)
	require.NoError(t, p.pass([]byte(`{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s1"}}`+"\n"), p.editor, p.fromAgent))
	require.Equal(t, 1, strings.Count(editor.String(), `"id":2`), editor.String())
}
