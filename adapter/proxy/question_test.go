package proxy

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

func TestInitialize(t *testing.T) {
	for sent, want := range map[string]string{
		`{"protocolVersion":1}`: `{"protocolVersion":1,"clientCapabilities":{"elicitation":{"form":{},"url":{}}}}`,
		`{"clientCapabilities":{"fs":{"readTextFile":true},"elicitation":null},"x":1}`: `{"clientCapabilities":{"fs":{"readTextFile":true},"elicitation":{"form":{},"url":{}}},"x":1}`,
		`{"clientCapabilities":{"elicitation":{"form":{"a":1},"_meta":{}}}}`:           `{"clientCapabilities":{"elicitation":{"form":{"a":1},"_meta":{},"url":{}}}}`,
	} {
		p := start(t, Options{})
		p.editor.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":` + sent + `}`)
		got := p.agent.next()
		require.Equal(t, want, got.Get("params").Raw)
		require.Equal(t, "1", got.Get("id").Raw)
		answer := `{"jsonrpc":"2.0","id":1,"result":{"agentCapabilities":{"loadSession":true},"_meta":{"grokShell":true}}}`
		p.agent.send(answer)
		require.Equal(t, answer, p.editor.next().Raw, "the editor sees the agent's capabilities")
	}
}

const grokAsks = `{"jsonrpc":"2.0","id":0,"method":"_x.ai/ask_user_question","params":{"sessionId":"s1","toolCallId":"c1","questions":[
{"question":"Which database?","options":[{"label":"PostgreSQL","description":"big"},{"label":"SQLite","description":"small"}],"multiSelect":false}]}}`

// oneLine takes the line ends out of a literal.
func oneLine(s string) string {
	out := ""
	for _, r := range s {
		if r != '\n' {
			out += string(r)
		}
	}
	return out
}

func selected(id string) string { return `{"outcome":{"outcome":"selected","optionId":"` + id + `"}}` }

const kimiForm = `{"sessionId":"s1","toolCallId":"0:c1","mode":"form","message":"Which database?","requestedSchema":{"type":"object","properties":{"q0":{"type":"string","title":"Database","oneOf":[{"const":"PostgreSQL","title":"PostgreSQL"},{"const":"SQLite","title":"SQLite"}]}},"required":["q0"]},"_meta":{"kept":true}}`

const kimiAsks = `{"jsonrpc":"2.0","id":0,"method":"elicitation/create","params":` + kimiForm + `}`

func TestTrace(t *testing.T) {
	var mu sync.Mutex
	var lines []string
	p := start(t, Options{Trace: func(wire string, dir ndjson.Direction, line []byte) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, fmt.Sprint(wire, dir == ndjson.In, string(line)))
	}})
	p.editor.send(`{"jsonrpc":"2.0","method":"x"}`)
	p.agent.next()
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []string{`editortrue{"jsonrpc":"2.0","method":"x"}`, `agentfalse{"jsonrpc":"2.0","method":"x"}`}, lines)
}

// The user of an agent that takes no own words is told, once, what to do with
// them.
func TestNoWordsIsTold(t *testing.T) {
	p := initialized(t, Options{Agent: profileNamed("nanocoder")}, noForms)
	for i := range 2 {
		p.agent.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/request_permission","params":{"sessionId":"s1","options":[{"kind":"allow_once","name":"A","optionId":"a"},{"kind":"allow_once","name":"B","optionId":"b"}],"toolCall":{"toolCallId":"t%d","title":"Which?"}}}`, i, i))
		told := 0
		for m := p.editor.next(); ; m = p.editor.next() {
			if strings.Contains(m.Raw, "in your next message") {
				told++
			}
			if m.Get("method").Str == "session/request_permission" {
				p.editor.result(m, selected("B"))
				break
			}
		}
		require.Equal(t, 1-i, told)
		require.Equal(t, "b", p.agent.next().Get("result.outcome.optionId").Str)
	}
}

// A question that comes when the proxy has ended is refused: the end waits for
// those that are open, and for no other.
func TestNothingIsAskedBehindTheEnd(t *testing.T) {
	p := newProxy(t.Context(), io.Discard, io.Discard, Options{})
	p.asker = new(adapter.Adapter)
	p.end(errEditorGone)
	_, err := p.enter("1", "s1", false, nil)
	require.ErrorIs(t, err, errStopped)
}

// A thousand questions may be open, and one more is refused.
func TestManyQuestionsAreOpen(t *testing.T) {
	p := newProxy(t.Context(), io.Discard, io.Discard, Options{})
	p.asker = adapter.New(&asking{p: p}, nil)
	var open []*asking
	for n := range maxOpen {
		q, err := p.enter(strconv.Itoa(n), "s1", false, nil)
		require.NoError(t, err)
		open = append(open, q)
	}
	_, err := p.enter("one more", "s1", false, nil)
	require.ErrorContains(t, err, "1000 questions are open")
	open[0].leave(nil)
	q, err := p.enter("one more", "s1", false, nil)
	require.NoError(t, err)
	for _, q := range append(open[1:], q) {
		q.leave(nil)
	}
}
