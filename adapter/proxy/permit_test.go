package proxy

import (
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

const mayRun = `{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"t1","title":"Run make","kind":"execute","status":"pending","rawInput":{"command":"make"}},"options":[{"optionId":"once","name":"Allow","kind":"allow_once"},{"optionId":"always","name":"Always","kind":"allow_always"},{"optionId":"no","name":"Reject","kind":"reject_once"}]}}`

// permitted is an agent that works on a prompt, with an editor, and people at a desk.
type permitted struct {
	*proxied
	desk    *desk.Desk
	entries chan desk.Entry
}

func withDesk(t *testing.T, o Options) *permitted {
	o.Desk = new(desk.Desk)
	p := &permitted{start(t, o), o.Desk, make(chan desk.Entry, 1000)}
	t.Cleanup(o.Desk.Watch(func(e desk.Entry) { p.entries <- e }))
	p.initialize(noForms)
	p.prompt("p1", "go")
	p.agent.until("session/prompt")
	return p
}

// until waits for an entry of the desk in this state.
func (p *permitted) until(state desk.State) desk.Entry {
	p.Helper()
	for {
		if e := acptest.Next(p, p.entries); e.State == state {
			return e
		}
	}
}

// asks has the agent ask for a permission that the editor shows as it is written.
func (p *permitted) asks(request string) desk.Entry {
	p.Helper()
	p.agent.send(request)
	require.Equal(p, request, p.editor.until("session/request_permission").Raw)
	return p.until(desk.Asking)
}

func pick(label string) []convert.Answer { return []convert.Answer{{Selected: []string{label}}} }

// mark is behind all that its sender said before.
const mark = `{"jsonrpc":"2.0","method":"x/sync"}`

const editorAllows = `{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"selected","optionId":"once"},"x":1}}`

// Whoever is first at the desk is first for everybody, and the agent gets one answer.
func TestPermitSameMoment(t *testing.T) {
	p := withDesk(t, Options{})
	for range 50 {
		e := p.asks(mayRun)
		done := make(chan error, 1)
		go func() { done <- p.desk.Answer(e.Name, pick("Reject"), "phone") }()
		p.editor.send(editorAllows)
		got := p.agent.next()
		won := <-done == nil
		require.Equal(t, won, got.Get("result.outcome.optionId").Str == "no", "%s", got.Raw)
		require.Equal(t, won, p.until(desk.Settled).By == "phone")
		p.agent.send(chunk("on")) // the editor may have been told, and no more
		for m := p.editor.next(); m.Get("method").Str != "session/update"; m = p.editor.next() {
			require.Equal(t, "$/cancel_request", m.Get("method").Str)
		}
		p.editor.send(mark) // all that it said before has been read
		require.Equal(t, mark, p.agent.next().Raw)
	}
}

// An answer that was there before the cancel is there for the agent before it, too.
func TestPermitAnsweredBeforeCancel(t *testing.T) {
	p := withDesk(t, Options{})
	e := p.asks(mayRun)
	stuck := make(chan struct{})
	stop := p.desk.Watch(func(c desk.Entry) { // whoever waits at the desk is told late
		if c.State == desk.Settled {
			p.editor.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`)
			<-stuck
		}
	})
	defer stop()
	go func() { _ = p.desk.Answer(e.Name, pick("Always"), "phone") }()
	require.Equal(t, "always", p.agent.next().Get("result.outcome.optionId").Str)
	require.Equal(t, "session/cancel", p.agent.next().Get("method").Str)
	close(stuck)
}

// As many as questions are at the desk at a time. Those beyond that are the editor's
// alone, and so are all where there is no desk.
func TestManyPermissionsAreOpen(t *testing.T) {
	t.Parallel()
	for _, d := range []*desk.Desk{nil, {}} {
		p := initialized(t, Options{Desk: d}, noForms)
		ask := func(id int) {
			line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"t%d","title":"Run"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}}`, id, id)
			p.agent.send(line)
			require.Equal(t, line, p.editor.next().Raw)
		}
		for id := range maxOpen + 3 {
			ask(id)
		}
		if d == nil {
			continue
		}
		require.Len(t, d.List(), maxOpen)
		p.editor.send(`{"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"cancelled"}}}`)
		require.Equal(t, int64(0), p.agent.next().Get("id").Int())
		ask(maxOpen + 3)
		require.Len(t, d.List(), maxOpen)
	}
}

// An answer from elsewhere to a permission that the agent has taken back at that moment
// reaches nobody, and that is what is said of it.
func TestPermitThatTheAgentTookBack(t *testing.T) {
	d := new(desk.Desk)
	receipts := make(chan error, 1)
	defer d.WatchReceipts(func(_ string, err error) { receipts <- err })()
	p := newProxy(t.Context(), io.Discard, io.Discard, Options{Desk: d})
	params := gjson.Get(mayRun, "params")
	p.Step(func() { p.permits([]byte("7"), params, p.session("s1").shapes.Ask(params)) }) // it waits for no reply
	require.NoError(t, d.Answer(d.List()[0].Name, pick("Allow"), "phone"))
	require.ErrorIs(t, <-receipts, errNotWanted)
}
