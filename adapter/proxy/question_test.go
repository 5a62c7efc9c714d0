package proxy

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
	"github.com/acp-bridge/acp-bridge/internal/life"
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

const serverAsks = `{"jsonrpc":"2.0","id":0,"method":"_x.ai/mcp/elicit","params":{"sessionId":"s1","toolCallId":"c","serverName":"tickets","message":"Which one?","mode":"form","requestedSchema":{"type":"object","properties":{"n":{"type":"boolean","title":"Urgent"}},"required":["n"]}}}`

// An answer reaches the agent in its own shape, however the editor was asked.
func TestAnswers(t *testing.T) {
	const permission, form = "session/request_permission", "elicitation/create"
	for name, c := range map[string]struct {
		editor, asks, method string
		at, shows            string // in the request
		reply, want          string
	}{
		"a vendor's question":         {noForms, oneLine(grokAsks), permission, "params.toolCall.toolCallId", `"c1"`, selected("SQLite"), `{"outcome":"accepted","answers":{"Which database?":["SQLite"]}}`},
		"a vendor's question, a form": {withForms, oneLine(grokAsks), form, "params.toolCallId", `"c1"`, `{"action":"accept","content":{"question_0_custom":"DuckDB"}}`, `{"outcome":"accepted","answers":{"Which database?":["DuckDB"]}}`},
		"a form, as it came":          {withForms, kimiAsks, form, "params", kimiForm, `{"action":"accept","content":{"q0":"SQLite"},"_meta":{"mine":1}}`, `{"action":"accept","content":{"q0":"SQLite"},"_meta":{"mine":1}}`},
		"a form in buttons":           {noForms, kimiAsks, permission, "params.toolCall.content", "Which database?", selected("SQLite"), `{"action":"accept","content":{"q0":"SQLite"}}`},
		"a form, dismissed":           {noForms, kimiAsks, permission, "params.toolCall.content", "Which database?", `{"outcome":{"outcome":"cancelled"}}`, `{"action":"cancel"}`},
		// Grok says how a server's form ended in a member of its own.
		"a server's form says who asks": {noForms, serverAsks, permission, "params.toolCall.content", "tickets", selected("Yes"), `{"action":"accept","outcome":"accept","content":{"n":true}}`},
	} {
		t.Run(name, func(t *testing.T) {
			p := initialized(t, Options{}, c.editor)
			p.agent.send(c.asks)
			request := p.editor.until(c.method)
			require.Equal(t, gjson.String, request.Get("id").Type, "the agent counts its own requests")
			require.Equal(t, "s1", request.Get("params.sessionId").Str)
			shown := request.Get(c.at).Raw
			require.Contains(t, shown, c.shows)
			require.True(t, c.at != "params" || shown == c.shows, "as it came: %s", shown)
			if c.asks == kimiAsks {
				require.NotContains(t, request.Get("params.options").Raw, "__other__", "own words would vanish")
			}
			p.editor.result(request, c.reply)
			require.JSONEq(t, `{"jsonrpc":"2.0","id":0,"result":`+c.want+`}`, p.agent.next().Raw)
		})
	}
}

// Of two questions side by side the first is dismissed. That ends no turn here, so the
// second is asked, and nobody is told that the user cancelled what they never saw.
func TestDismissedBesideAnother(t *testing.T) {
	other := strings.NewReplacer(`"id":0`, `"id":1`, `"c1"`, `"c2"`, "Which database?", "Which cache?").Replace(oneLine(grokAsks))
	for _, ends := range []string{"dismissed", "turn cancelled"} {
		p := initialized(t, Options{}, noForms)
		p.editor.send(`{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"sessionId":"s1","prompt":[]}}`)
		p.agent.until("session/prompt")
		p.agent.send(oneLine(grokAsks), other)
		first := p.editor.until("session/request_permission")
		if ends == "turn cancelled" { // what was shown is what they cancelled
			p.editor.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`)
			got := map[string]gjson.Result{}
			for range 2 {
				r := p.agent.reply()
				got[r.Get("id").Raw] = r
			}
			require.Equal(t, "cancelled", got["0"].Get("result.outcome").Str)
			require.Equal(t, "Withdrawn: the user cancelled the turn", got["1"].Get("error.message").Str)
			continue
		}
		p.editor.result(first, `{"outcome":{"outcome":"cancelled"}}`)
		require.JSONEq(t, `{"jsonrpc":"2.0","id":0,"result":{"outcome":"cancelled"}}`, p.agent.reply().Raw)
		second := p.editor.until("session/request_permission")
		require.Equal(t, "Which cache?", second.Get("params.toolCall.rawInput.question").Str)
		p.editor.result(second, selected("SQLite"))
		require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"outcome":"accepted","answers":{"Which cache?":["SQLite"]}}}`, p.agent.reply().Raw)
	}
}

// Where the agent has shown its tool call, the question is that tool call.
func TestQuestionIsTheAgentsToolCall(t *testing.T) {
	p := initialized(t, Options{}, noForms)
	p.agent.send(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call","toolCallId":"c1","title":"ask_user_question"}}}`, oneLine(grokAsks))
	require.Equal(t, "tool_call", p.editor.until("session/update").Get("params.update.sessionUpdate").Str)
	shown := p.editor.until("session/update").Get("params.update")
	require.Equal(t, "tool_call_update", shown.Get("sessionUpdate").Str)
	require.Equal(t, "c1", shown.Get("toolCallId").Str)
	p.editor.result(p.editor.until("session/request_permission"), selected("SQLite"))
	require.Equal(t, "completed", p.editor.until("session/update").Get("params.update.status").Str)
}

// A question that cannot be asked is a failure, never the user's choice.
func TestQuestionFails(t *testing.T) {
	p := initialized(t, Options{}, noForms)
	p.agent.send(oneLine(grokAsks))
	p.editor.result(p.editor.until("session/request_permission"), selected("Oracle"))
	require.Contains(t, p.editor.said(), "Which database?", "the next way")
	p.cancel(nil)
	answer := p.agent.next()
	require.False(t, answer.Get("result").Exists(), answer.Raw)
}

func TestUnreadableQuestion(t *testing.T) {
	p := initialized(t, Options{}, noForms)
	p.agent.send(`{"jsonrpc":"2.0","id":"x","method":"_x.ai/ask_user_question","params":{"questions":[]}}`)
	require.EqualValues(t, ndjson.InvalidParams, p.agent.next().Get("error.code").Int())
}

func TestNotInitialized(t *testing.T) {
	p := start(t, Options{})
	p.agent.send(oneLine(grokAsks))
	require.True(t, p.agent.next().Get("error").Exists())
}

// Permissions that are choices are questions of agents that are known to ask so: by how they
// were started, or by what they say; what the user says of an agent counts more.
func TestChoices(t *testing.T) {
	const asks = `{"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"s1","options":[{"optionId":"answer-0","name":"PostgreSQL","kind":"allow_once"},{"optionId":"answer-1","name":"SQLite","kind":"allow_once"}],"toolCall":{"toolCallId":"t","title":"Which database?"}}}`
	permits := strings.Replace(asks, `"kind":"allow_once"}]`, `"kind":"reject_once"}]`, 1)
	for _, c := range []struct {
		agent, says string
		line        string
		question    bool
	}{
		{"nanocoder", "", asks, true}, {"", "", asks, false}, {"grok", "nanocoder", asks, false},
		{"", "nanocoder", asks, true}, {"", "antigravity-acp", asks, true}, {"", "nanocoder", permits, false}, {"", "antigravity-acp", permits, false},
	} {
		p := start(t, Options{Agent: profileNamed(c.agent)})
		p.editor.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientCapabilities":` + withForms + `}}`)
		p.agent.result(p.agent.next(), `{"agentInfo":{"name":"`+c.says+`","version":"1"}}`)
		p.editor.next()
		p.agent.send(c.line)
		if !c.question {
			require.Equal(t, c.line, p.editor.next().Raw, "%+v", c)
			continue
		}
		p.editor.result(p.editor.until("elicitation/create"), `{"action":"accept","content":{"question_0":"SQLite"}}`)
		require.JSONEq(t, selected("answer-1"), p.agent.next().Get("result").Raw)
	}
}

// The agent learns of the cancel first, then that its question has no answer;
// the editor that its dialog is over.
func TestSessionCancel(t *testing.T) {
	p, request := dialog(t, Options{})
	p.editor.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"other"}}`)
	require.Equal(t, "session/cancel", p.agent.next().Get("method").Str)
	p.editor.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`)
	require.Equal(t, "s1", p.agent.next().Get("params.sessionId").Str)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":0,"result":{"outcome":"cancelled"}}`, p.agent.next().Raw)
	require.Equal(t, request.Get("id").Str, p.editor.until("$/cancel_request").Get("params.requestId").Str)
	p.editor.result(request, `{"outcome":{"outcome":"cancelled"}}`) // as it must, late
	p.editor.send(`{"jsonrpc":"2.0","method":"after"}`)
	require.Equal(t, "after", p.agent.next().Get("method").Str, "an answer to us goes no further")
}

// An answer behind a cancel is none, also in one breath.
func TestAnswerBehindCancel(t *testing.T) {
	for range 20 {
		p, request := dialog(t, Options{})
		option := request.Get("params.options.0.optionId").Str
		p.editor.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}` + "\n" +
			`{"jsonrpc":"2.0","id":"` + request.Get("id").Str + `","result":{"outcome":{"outcome":"selected","optionId":"` + option + `"}}}`)
		require.Equal(t, "s1", p.agent.next().Get("params.sessionId").Str)
		require.JSONEq(t, `{"jsonrpc":"2.0","id":0,"result":{"outcome":"cancelled"}}`, p.agent.next().Raw)
	}
}

// An agent that is a bridge itself says who has answered what it takes back: the editor
// is told.
func TestAgentWithdrawsWhatWasAnsweredElsewhere(t *testing.T) {
	p, _ := dialog(t, Options{Desk: new(desk.Desk)})
	const settled = `{"acp-bridge":{"settled":{"by":"Ann","outcome":"answered"}}}`
	p.agent.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":0,"_meta":` + settled + `}}`)
	require.JSONEq(t, settled, p.editor.until("$/cancel_request").Get("params._meta").Raw)
	require.EqualValues(t, ndjson.Cancelled, p.agent.next().Get("error.code").Int())
}

func TestAgentWithdraws(t *testing.T) {
	d, told := new(desk.Desk), make(chan error, 1)
	defer d.WatchReceipts(func(_ desk.Ref, err error) { told <- err })()
	p, request := dialog(t, Options{Desk: d})
	p.agent.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":0}}`)
	require.Equal(t, request.Get("id").Str, p.editor.until("$/cancel_request").Get("params.requestId").Str)
	require.EqualValues(t, ndjson.Cancelled, p.agent.next().Get("error.code").Int())
	require.ErrorIs(t, <-told, life.ErrGone, "whoever keeps an answer for it is told")

	unknown := `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":77}}`
	p.agent.send(unknown)
	for {
		if m := p.editor.next(); m.Get("params.requestId").Raw == "77" {
			require.Equal(t, unknown, m.Raw)
			break
		}
	}
}

// Questions of one session come one after the other, in their order.
func TestQuestionsInOrder(t *testing.T) {
	p := initialized(t, Options{}, noForms)
	second := `{"jsonrpc":"2.0","id":1,"method":"_x.ai/ask_user_question","params":{"sessionId":"s1","toolCallId":"c2","questions":[{"question":"Second?","options":["a","b"]}]}}`
	p.agent.send(oneLine(grokAsks), second)
	first := p.editor.until("session/request_permission")
	require.Equal(t, "c1", first.Get("params.toolCall.toolCallId").Str)
	p.editor.result(first, selected("SQLite"))
	require.Equal(t, "0", p.agent.next().Get("id").Raw)
	next := p.editor.until("session/request_permission")
	require.Equal(t, "c2", next.Get("params.toolCall.toolCallId").Str)
	p.editor.result(next, selected("a"))
	require.Equal(t, "1", p.agent.next().Get("id").Raw)
}

// An agent that dies answers nothing: its editor gets errors, and the dialog
// that is open is over.
func TestAgentDies(t *testing.T) {
	p := initialized(t, Options{}, noForms)
	p.editor.send(`{"jsonrpc":"2.0","id":"p1","method":"session/prompt","params":{"sessionId":"s1"}}`)
	p.agent.until("session/prompt")
	p.agent.send(oneLine(grokAsks))
	request := p.editor.until("session/request_permission")
	require.NoError(t, p.agent.w.Close())
	seen := map[string]bool{}
	for len(seen) < 3 {
		switch m := p.editor.next(); {
		case m.Get("id").Str == "p1":
			require.Contains(t, m.Get("error.message").Str, "agent is gone")
			seen["prompt"] = true
		case m.Get("params.requestId").Str == request.Get("id").Str:
			seen["withdrawn"] = true
		case m.Get("params.update.status").Str == "failed":
			seen["failed"] = true
		}
	}
	require.ErrorIs(t, <-p.ended, errAgentGone)
}

func TestEditorGoes(t *testing.T) {
	p, _ := dialog(t, Options{})
	require.NoError(t, p.editor.w.Close())
	require.NoError(t, <-p.ended)
}

// An editor that does not open addresses is not told that one was visited.
func TestElicitationComplete(t *testing.T) {
	done := `{"jsonrpc":"2.0","method":"elicitation/complete","params":{"elicitationId":"e"}}`
	after := `{"jsonrpc":"2.0","method":"after"}`
	p := initialized(t, Options{}, withForms)
	p.agent.send(done, after)
	require.Equal(t, after, p.editor.next().Raw)

	p = initialized(t, Options{}, `{"elicitation":{"url":{}}}`)
	p.agent.send(done)
	require.Equal(t, done, p.editor.next().Raw)
}

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
