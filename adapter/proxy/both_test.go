package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	front "github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
	"github.com/acp-bridge/acp-bridge/internal/seen"
	machine "github.com/acp-bridge/acp-bridge/internal/session"
)

// What a person in front of an editor sees of a question is the same whether the
// front asks, which runs the agent itself, or the proxy. Each of these runs once
// against both.

// driven is an editor with an agent behind either. An agent asks Which <id>?, with
// the options Yes and No.
type driven struct {
	*testing.T
	editor *end
	desk   *desk.Desk
	agent  drivenAgent
}

type drivenAgent interface {
	works() // waits for a prompt, and begins with it
	asks(id string)
	withdraws(id string)
	ends(err error) // its turn
	gets(id string) string
	prompted(text string) // waits for another prompt, which is this one
	says(text string)
}

func (d *driven) prompt(id, text string) {
	d.Helper()
	d.editor.send(`{"jsonrpc":"2.0","id":"` + id + `","method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"` + text + `"}]}}`)
}

// begins has the agent ask in a turn.
func (d *driven) begins(id string) {
	d.prompt("p1", "go")
	d.agent.works()
	d.agent.asks(id)
}

// ended waits for the end of a prompt.
func (d *driven) ended(id string) string {
	d.Helper()
	end := d.editor.reply()
	require.Equal(d, id, end.Get("id").Str, end.Raw)
	if end.Get("error").Exists() {
		return "error: " + end.Get("error.message").Str
	}
	return end.Get("result.stopReason").Str
}

// saidOf waits for a text that contains another.
func (d *driven) saidOf(part string) string {
	d.Helper()
	for {
		if text := d.editor.said(); strings.Contains(text, part) {
			return text
		}
	}
}

// parks has a question of a turn in the conversation.
func (d *driven) parks(id string) {
	d.Helper()
	d.begins(id)
	d.saidOf("Which " + id + "?")
	require.Equal(d, "end_turn", d.ended("p1"))
}

const conversation, dialogs = adapter.Conversation, adapter.Permission

var both = []struct {
	name  string
	first adapter.Rung
	play  func(d *driven)
}{
	{"the next prompt answers", conversation, func(d *driven) {
		d.parks("a")
		d.prompt("p2", "2")
		require.Equal(d, "No", d.agent.gets("a"))
		d.agent.ends(nil)
		require.Equal(d, "end_turn", d.ended("p2"))
	}},
	{"what comes behind an opening answers nothing that was shown before", conversation, func(d *driven) {
		d.parks("a")
		d.editor.send(`{"jsonrpc":"2.0","id":"load","method":"session/load","params":{"sessionId":"s1","cwd":"/","mcpServers":[]}}`,
			`{"jsonrpc":"2.0","id":"p2","method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"1"}]}}`)
		told := d.agent.gets("a")
		require.NotEqual(d, "Yes", told)
		require.NotEqual(d, "cancelled", told, "the user has not dismissed it")
	}},
	{"nothing is held while watchers of the desk are told", dialogs, func(d *driven) {
		told, goOn := make(chan struct{}), make(chan struct{})
		defer d.desk.Watch(func(e desk.Entry) {
			if e.State == desk.Queued {
				close(told)
				<-goOn // no watcher may do that
			}
		})()
		d.begins("a")
		<-told
		d.agent.withdraws("a")
		d.agent.says("on")
		d.saidOf("on")
		close(goOn)
		d.agent.ends(nil)
		require.Equal(d, "end_turn", d.ended("p1"))
	}},
	{"answered elsewhere: the user is told, and the next prompt is the agent's", conversation, func(d *driven) {
		d.parks("a")
		require.NoError(d, d.desk.Answer(d.desk.List()[0].Name, []convert.Answer{{Selected: []string{"Yes"}}}, "phone"))
		d.saidOf("answered elsewhere")
		require.Equal(d, "Yes", d.agent.gets("a"))
		d.agent.ends(nil)
		d.prompt("p2", "more")
		d.agent.prompted("more")
	}},
	{"withdrawn: the user is told, and the next prompt is the agent's", conversation, func(d *driven) {
		d.parks("a")
		d.agent.withdraws("a")
		d.saidOf("has withdrawn")
		d.agent.ends(nil)
		d.prompt("p2", "more")
		d.agent.prompted("more")
	}},
	{"the agent goes on: the user is told, and the next prompt is the agent's", conversation, func(d *driven) {
		d.parks("a")
		d.agent.ends(nil)
		d.saidOf("has gone on")
		require.Contains(d, d.agent.gets("a"), "turn ended")
		d.prompt("p2", "more")
		d.agent.prompted("more")
	}},
	{"words for a question that is gone answer no other", conversation, func(d *driven) {
		d.parks("a")
		d.agent.withdraws("a")
		d.saidOf("has withdrawn")
		d.agent.asks("b")
		d.saidOf("Which b?")
		d.prompt("p2", "1")
		require.Contains(d, d.saidOf("Which b?"), "not taken as an answer")
		require.Equal(d, "end_turn", d.ended("p2"))
		d.prompt("p3", "2")
		require.Equal(d, "No", d.agent.gets("b"))
	}},
	{"a question that is never shown is told as not asked", conversation, func(d *driven) {
		d.parks("a")
		d.agent.withdraws("a")
		d.saidOf("has withdrawn")
		d.prompt("p2", "Yes")
		synctest.Wait() // it is there
		d.agent.asks("b")
		require.Contains(d, d.agent.gets("b"), "not asked")
	}},
	{"a failure in its turn is the next prompt's, unsent", conversation, func(d *driven) {
		d.parks("a")
		d.agent.ends(errors.New("it broke"))
		d.prompt("p2", "2")
		require.Contains(d, d.ended("p2"), "it broke")
		d.prompt("p3", "more")
		d.agent.prompted("more")
	}},
	{"a cancel ends it, and the next prompt is the agent's", conversation, func(d *driven) {
		d.parks("a")
		d.editor.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`)
		require.Equal(d, "cancelled", d.agent.gets("a"))
		d.agent.ends(nil)
		d.prompt("p2", "more")
		d.agent.prompted("more")
	}},
	{"a prompt takes the place of a dialog", dialogs, func(d *driven) {
		d.begins("a")
		request := d.editor.until("session/request_permission").Get("id").Raw
		d.prompt("p2", "something else")
		require.Equal(d, request, d.editor.until("$/cancel_request").Get("params.requestId").Raw)
		require.Equal(d, "cancelled", d.agent.gets("a"))
		d.agent.ends(nil)
		d.ended("p1")
		d.agent.prompted("something else")
	}},
	{"who has answered elsewhere is said with the end of a dialog", dialogs, func(d *driven) {
		d.begins("a")
		d.editor.until("session/request_permission")
		require.NoError(d, d.desk.Answer(d.desk.List()[0].Name, pick("Yes"), "Ann"))
		require.JSONEq(d, `{"outcome":"answered","by":"Ann"}`, d.editor.until("$/cancel_request").Get("params._meta.acp-bridge.settled").Raw)
		require.Equal(d, "Yes", d.agent.gets("a"))
		d.agent.ends(nil)
		d.ended("p1")
	}},
	{"a reply to a dialog that is gone answers nothing", dialogs, func(d *driven) {
		d.begins("a")
		request := d.editor.until("session/request_permission")
		d.agent.withdraws("a")
		d.editor.until("$/cancel_request")
		d.editor.result(request, selected("Yes"))
		d.agent.asks("b")
		d.editor.result(d.editor.until("session/request_permission"), selected("No"))
		require.Equal(d, "No", d.agent.gets("b"))
	}},
}

func TestFrontAndProxy(t *testing.T) {
	t.Parallel()
	starts := map[string]func(*testing.T, adapter.Rung, bool) *driven{"front": driveFront, "proxy": driveProxy}
	for name, start := range starts {
		for _, c := range both {
			t.Run(c.name+"/"+name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { c.play(start(t, c.first, false)) }) })
		}
		for when, play := range unread {
			t.Run(when+"/"+name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { play(start(t, conversation, true)) }) })
		}
	}
}

// A prompt that may have been sent before anybody saw the question answers nothing: the
// question is shown again.
var unread = map[string]func(d *driven){
	"unread: the editor had not come to the question": func(d *driven) {
		d.parks("a")
		probe := d.editor.until(seen.Method)
		time.Sleep(time.Minute) // it is busy, however long
		d.prompt("p2", "2")
		d.unknown(probe)
		d.again("p2")
		// Nor does one that is there before the answer to what was sent behind it.
		probe = d.editor.until(seen.Method)
		d.editor.send(`{"jsonrpc":"2.0","id":"p3","method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"2"}]}}`,
			`{"jsonrpc":"2.0","id":`+probe.Get("id").Raw+`,"error":{"code":-32601,"message":"unknown"}}`)
		d.again("p3")
		d.unknown(d.editor.until(seen.Method))
		d.reads()
		d.prompt("p4", "2")
		require.Equal(d, "No", d.agent.gets("a"))
	},
	"unread: faster than a person reads": func(d *driven) {
		d.parks("a")
		d.unknown(d.editor.until(seen.Method))
		synctest.Wait()
		time.Sleep(seen.Person - 1)
		d.prompt("p2", "2")
		d.again("p2")
		d.unknown(d.editor.until(seen.Method))
		d.reads()
		d.prompt("p3", "1")
		require.Equal(d, "Yes", d.agent.gets("a"))
	},
	"an editor that answers nothing has taken it, and time has passed": func(d *driven) {
		d.parks("a")
		d.editor.until(seen.Method)
		time.Sleep(seen.Strict / 2)
		d.prompt("p2", "2")
		d.again("p2")
		time.Sleep(2 * seen.Strict)
		d.prompt("p3", "2")
		require.Equal(d, "No", d.agent.gets("a"))
	},
}

// reads is a person who takes the time to.
func (d *driven) reads() {
	synctest.Wait()
	time.Sleep(seen.Person)
}

// unknown is what an editor says to a request that it does not know.
func (d *driven) unknown(request gjson.Result) {
	d.Helper()
	d.editor.send(`{"jsonrpc":"2.0","id":` + request.Get("id").Raw + `,"error":{"code":-32601,"message":"unknown"}}`)
}

// again waits until a question is shown again because of a prompt, which ends.
func (d *driven) again(prompt string) {
	d.Helper()
	d.saidOf("Which a?")
	require.Equal(d, "end_turn", d.ended(prompt))
}

// lineAgent is an agent behind the proxy, which asks as Grok does.
type lineAgent struct {
	*end
	prompts []string // ids that it has not ended
	said    []string
	replies map[string]string
}

func driveProxy(t *testing.T, first adapter.Rung, guard bool) *driven {
	d := &desk.Desk{}
	p := startGuarding(t, Options{First: first, Desk: d, TrustPrompts: !guard})
	p.initialize(quiet)
	return &driven{t, p.editor, d, &lineAgent{end: p.agent, replies: map[string]string{}}}
}

// read takes the next line.
func (a *lineAgent) read() {
	a.t.Helper()
	switch m := a.next(); {
	case m.Get("method").Str == "session/prompt":
		a.prompts = append(a.prompts, m.Get("id").Raw)
		a.said = append(a.said, m.Get("params.prompt.0.text").Str)
	case !m.Get("method").Exists():
		id := m.Get("id").Str
		switch {
		case m.Get("error").Exists():
			a.replies[id] = m.Get("error.message").Str
		case m.Get("result.outcome").Str != "accepted":
			a.replies[id] = m.Get("result.outcome").Str + m.Get("result.message").Str
		default:
			a.replies[id] = m.Get("result.answers").Get("*.0").Str
		}
	}
}

func (a *lineAgent) works() {
	for len(a.prompts) == 0 {
		a.read()
	}
}

func (a *lineAgent) prompted(text string) {
	for len(a.said) == 0 || a.said[len(a.said)-1] != text {
		a.read()
	}
}

func (a *lineAgent) asks(id string) {
	a.send(`{"jsonrpc":"2.0","id":"` + id + `","method":"_x.ai/ask_user_question","params":{"sessionId":"s1","toolCallId":"` + id + `","questions":[{"question":"Which ` + id + `?","options":[{"label":"Yes"},{"label":"No"}],"multiSelect":false}]}}`)
}

func (a *lineAgent) says(text string) {
	a.send(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + text + `"}}}}`)
}

func (a *lineAgent) withdraws(id string) {
	a.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"` + id + `"}}`)
}

func (a *lineAgent) ends(err error) {
	line := `{"jsonrpc":"2.0","id":` + a.prompts[0] + `,"result":{"stopReason":"end_turn"}}`
	if err != nil {
		line = string(errorLine(a.prompts[0], ndjson.Internal, err.Error()))
	}
	a.prompts = a.prompts[1:]
	a.send(line)
}

func (a *lineAgent) gets(id string) string {
	for a.replies[id] == "" {
		a.read()
	}
	return a.replies[id]
}

// frontAgent is an agent behind the front.
type frontAgent struct {
	t       *testing.T
	out     *front.Session
	prompts chan frontPrompt
	turn    []string // ids
	replies map[string]chan string
}

type frontPrompt struct{ id, text string }

func driveFront(t *testing.T, first adapter.Rung, guard bool) *driven {
	d := &desk.Desk{}
	editor, toEditor := newEnd(t)
	a := &frontAgent{t: t, prompts: make(chan frontPrompt, 10), replies: map[string]chan string{"a": make(chan string, 1), "b": make(chan string, 1), "c": make(chan string, 1)}}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = front.Serve(context.Background(), toEditor.In, toEditor.Out, a, &front.Options{First: first, Desk: d, TrustPrompts: !guard})
	}()
	t.Cleanup(func() {
		editor.w.Close()
		<-served
	})
	editor.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":1,"clientCapabilities":` + quiet + `}}`)
	require.Equal(t, "init", editor.reply().Get("id").Str)
	editor.send(`{"jsonrpc":"2.0","id":"new","method":"session/new","params":{"cwd":"/","mcpServers":[]}}`)
	require.Equal(t, "new", editor.reply().Get("id").Str)
	return &driven{t, editor, d, a}
}

func (a *frontAgent) works() {
	p := <-a.prompts
	a.turn = append(a.turn, p.id)
	a.out.Began(false)
}

func (a *frontAgent) prompted(text string) { require.Equal(a.t, text, (<-a.prompts).text) }

func (a *frontAgent) asks(id string) {
	call := convert.Call{ID: id, Name: "AskUserQuestion", Questions: []convert.Question{{Text: "Which " + id + "?", Options: []convert.Option{{Label: "Yes"}, {Label: "No"}}}}}
	a.out.AskQuestion(id, false, call, func(o convert.Outcome) bool {
		switch o.Status {
		case convert.Answered:
			a.replies[id] <- o.Answers[0].Selected[0]
		case convert.Cancelled:
			a.replies[id] <- "cancelled"
		default:
			a.replies[id] <- o.Reason
		}
		return true
	})
}

func (a *frontAgent) says(text string)      { a.out.Text(front.MessageChunk, text) }
func (a *frontAgent) withdraws(id string)   { a.out.Withdraw(id) }
func (a *frontAgent) gets(id string) string { return <-a.replies[id] }

func (a *frontAgent) ends(err error) {
	if err != nil { // it has no other way to fail while nobody sees its turn
		a.out.Exited(err, func(bool) {})
		return
	}
	a.out.EndTurn(front.TurnEnd{Prompts: a.turn, Reason: acp.StopReasonEndTurn}, func(bool) {})
	a.turn = nil
}

func (a *frontAgent) Initialize(context.Context, acp.InitializeRequest, json.RawMessage) (any, error) {
	return acp.InitializeResponse{ProtocolVersion: 1}, nil
}

func (a *frontAgent) Open(_ context.Context, o front.Opening) (front.Conversation, any, error) {
	a.out = o.Session("s1")
	return a, acp.NewSessionResponse{SessionId: "s1"}, nil
}

func (a *frontAgent) Request(_ context.Context, method string, _ json.RawMessage) (any, error) {
	return nil, acp.NewMethodNotFound(method)
}

func (a *frontAgent) Start(context.Context) error           { return nil }
func (a *frontAgent) Interrupt(context.Context, bool) error { return nil }
func (a *frontAgent) Kill()                                 {}
func (a *frontAgent) Close(context.Context) error {
	a.out.Exited(errors.New("closed"), func(bool) {})
	return nil
}

func (a *frontAgent) Read(r acp.PromptRequest) (any, error) { return r.Prompt[0].Text.Text, nil }

func (a *frontAgent) Prompt(id string, content any) error {
	a.prompts <- frontPrompt{id, content.(string)}
	return nil
}

// The session knows that a question is over before the next one has its turn: words
// that come then are not for the one that is gone.
func TestSettledBeforeTheNextQuestion(t *testing.T) {
	p := newProxy(t.Context(), io.Discard, io.Discard, Options{})
	p.asker = adapter.New(&asking{p: p}, nil)
	q := acptest.Must(p.enter("1", "s1", false, nil))
	require.NotNil(t, q.park(q.Ctx, "c1", "Which?"))
	require.True(t, q.in.state.Parked())
	q.Settled(convert.Outcome{Status: convert.Answered})
	require.False(t, q.in.state.Parked())
	q.leave(nil)
}

// An answer is told as used once it is written: not of a question that the agent has taken
// back, nor to an agent that is gone.
func TestUsedOnceItIsWritten(t *testing.T) {
	type receipt struct {
		id  string
		err error
	}
	last := receipt{id: "the last"}
	for name, c := range map[string]struct {
		agent io.Writer
		why   error
		told  receipt
	}{
		"it is":                  {io.Discard, nil, receipt{id: "a"}},
		"the agent took it back": {io.Discard, machine.ErrWithdrawn, receipt{"a", machine.ErrWithdrawn}},
		"the agent is gone":      {goneAgent{}, nil, last},
	} {
		t.Run(name, func(t *testing.T) {
			d := new(desk.Desk)
			told := make(chan receipt, 10)
			defer d.WatchReceipts(func(name string, err error) { told <- receipt{name, err} })()
			p := newProxy(t.Context(), io.Discard, c.agent, Options{Desk: d})
			p.asker = adapter.New(&asking{p: p}, nil)
			q := acptest.Must(p.enter("1", "s1", false, nil))
			q.name = "a"
			if c.why != nil {
				q.Cancel(c.why)
			}
			q.leave([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
			d.Receipt(last.id, nil)
			require.Equal(t, c.told, <-told)
		})
	}
}

// What a model asked with our own tool is told as used when it has fetched the answer.
func TestToolCallUsed(t *testing.T) {
	d := new(desk.Desk)
	told := make(chan string, 10)
	defer d.WatchReceipts(func(name string, _ error) { told <- name })()
	c := &toolCall{tool: &tool{p: newProxy(t.Context(), io.Discard, io.Discard, Options{Desk: d})}, name: "a"}
	require.Error(t, c.Deliver(func() error { return io.ErrClosedPipe }))
	c.name = "b"
	require.NoError(t, c.Deliver(func() error { return nil }))
	require.Equal(t, "b", <-told)
}

type goneAgent struct{}

func (goneAgent) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
