package proxy

import (
	"fmt"
	"io"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

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

// A question that comes when the proxy has ended is refused: the end waits for
// those that are open, and for no other.
func TestNothingIsAskedBehindTheEnd(t *testing.T) {
	p := newProxy(t.Context(), io.Discard, io.Discard, Options{})
	p.asker = new(adapter.Adapter)
	p.end(errEditorGone)
	require.ErrorIs(t, acptest.Err(p.enter("1", "s1", false, nil)), errStopped)
}

// A thousand questions may be open, and one more is refused.
func TestManyQuestionsAreOpen(t *testing.T) {
	p := newProxy(t.Context(), io.Discard, io.Discard, Options{})
	p.asker = adapter.New(&asking{p: p}, nil)
	var open []*asking
	for n := range maxOpen {
		open = append(open, acptest.Must(p.enter(strconv.Itoa(n), "s1", false, nil)))
	}
	require.ErrorContains(t, acptest.Err(p.enter("one more", "s1", false, nil)), "1000 questions are open")
	open[0].leave(nil)
	for _, q := range append(open[1:], acptest.Must(p.enter("one more", "s1", false, nil))) {
		q.leave(nil)
	}
}
