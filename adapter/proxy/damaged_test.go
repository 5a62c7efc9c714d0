package proxy

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An answer of the editor's to a question that it was not asked goes nowhere,
// however its id is written.
func TestForgedAnswer(t *testing.T) {
	p, request := dialog(t, Options{})
	for _, id := range []string{"0", "0.0", "0e1", "-0"} {
		p.editor.send(`{"jsonrpc":"2.0","id":` + id + `,"result":{"outcome":"accepted","answers":{"Which database?":["PostgreSQL"]}}}`)
	}
	p.editor.result(request, selected("SQLite"))
	require.JSONEq(t, `["SQLite"]`, p.agent.next().Get(`result.answers.Which database\?`).Raw)
}

// A broken answer is no answer: the question is asked in another way.
func TestBrokenAnswer(t *testing.T) {
	t.Parallel()
	p := initialized(t, Options{}, withForms)
	p.agent.send(oneLine(grokAsks))
	form := p.editor.until("elicitation/create")
	p.editor.send(`{"jsonrpc":"2.0","id":` + form.Get("id").Raw + `,"result":{"action":"accept","content":{"question_0":"PostgreSQL"}`)
	request := p.editor.until("session/request_permission")
	long := `{"jsonrpc":"2.0","id":` + request.Get("id").Raw + `,"result":{"outcome":{"outcome":"selected","optionId":"PostgreSQL"}},"more":"`
	go io.Copy(p.editor.w, io.MultiReader(strings.NewReader(long), strings.NewReader(strings.Repeat("x", maxLine)), strings.NewReader("\"}\n")))
	require.Contains(t, p.editor.said(), "Which database?", "in the conversation")
}

// Nobody waits for ever for what was said in a line that is left out.
func TestBrokenLines(t *testing.T) {
	p := start(t, Options{})
	p.editor.send(`{"jsonrpc":"2.0","id":7,"method":"session/list","params":{`)
	require.Equal(t, "7", p.editor.next().Get("id").Raw)
	p.editor.send(`{"jsonrpc":"2.0","id":"a","method":"session/list","params":{}}`)
	require.Equal(t, "a", p.agent.next().Get("id").Str)
	p.agent.send(`{"jsonrpc":"2.0","id":"a","result":{"sessions":[`)
	reply := p.editor.next()
	require.Equal(t, "a", reply.Get("id").Str)
	require.True(t, reply.Get("error").Exists())
	p.agent.send(`{"jsonrpc":"2.0","id":3,"method":"fs/read_text_file","params":{"path":"/x"}}`)
	require.Equal(t, "3", p.editor.next().Get("id").Raw)
	p.editor.send(`{"jsonrpc":"2.0","id":3,"result":{"content":"`)
	reply = p.agent.next()
	require.Equal(t, "3", reply.Get("id").Raw)
	require.True(t, reply.Get("error").Exists())
}

// The agent's turn failed while its question stood in the conversation. What the
// user writes then may be the answer: it is no new task.
func TestTurnFailsWhileParked(t *testing.T) {
	p := initialized(t, Options{}, `{}`)
	p.prompt("p1", "begin")
	p.agent.until("session/prompt")
	p.agent.send(oneLine(grokAsks))
	p.editor.result(p.editor.until("session/request_permission"), selected("__other__"))
	require.Equal(t, "end_turn", p.editor.reply().Get("result.stopReason").Str)
	p.agent.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":0}}`, `{"jsonrpc":"2.0","id":"p1","error":{"code":-32603,"message":"the model is gone"}}`, `{"jsonrpc":"2.0","method":"after"}`)
	p.agent.reply() // to the question
	p.editor.until("after")
	p.prompt("p2", "DuckDB")
	reply := p.editor.reply()
	require.Equal(t, "p2", reply.Get("id").Str)
	require.Equal(t, "the model is gone", reply.Get("error.message").Str)
	p.prompt("p3", "again")
	require.Equal(t, "p3", p.agent.next().Get("id").Str)
}

// An answer with two meanings has none: the question is asked in another way, and
// what was the agent's own is told to it as an error.
func TestRule2TwoMeanings(t *testing.T) {
	for name, members := range map[string]string{
		"two results":          `"result":{"outcome":{"outcome":"cancelled"}},"result":{"outcome":{"outcome":"selected","optionId":"PostgreSQL"}}`,
		"two results, escaped": `"result":{"outcome":{"outcome":"cancelled"}},"resul\u0074":{"outcome":{"outcome":"selected","optionId":"PostgreSQL"}}`,
		"an error beside it":   `"error":{"code":1,"message":"m"},"result":{"outcome":{"outcome":"selected","optionId":"PostgreSQL"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			p := initialized(t, Options{}, noForms)
			p.agent.send(`{"jsonrpc":"2.0","id":3,"method":"fs/read_text_file","params":{"path":"/x"}}`)
			require.Equal(t, "3", p.editor.next().Get("id").Raw)
			p.editor.send(`{"jsonrpc":"2.0","id":3,` + members + `}`)
			require.True(t, p.agent.next().Get("error").Exists())
			p.agent.send(oneLine(grokAsks))
			request := p.editor.until("session/request_permission")
			p.editor.send(`{"jsonrpc":"2.0","id":` + request.Get("id").Raw + `,` + members + `}`)
			require.Contains(t, p.editor.said(), "Which database?", "in the conversation")
		})
	}
}
