// Package acptest has the players of tests: an [Editor] that an agent is joined to.
//
// It also records what the tests make us say. A test binary that imports it writes, if
// ACP_BRIDGE_WIRE names a folder, one message of each shape that our connections send
// there: as an agent to an editor, and as a client to an agent.
// .ci/tscheck/recorded.mjs holds them against the schemas of the protocol.
//
// What test doubles send is not recorded: theirs is wrong on purpose now and then. Nor
// is what the tests of the proxy send, which relays that.
package acptest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/conn"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// Patience is how long a test waits for something that must happen.
const Patience = 5 * time.Minute

// Editor is an ACP client joined to the agent by a real connection. It keeps
// what it is sent; a test answers requests as they come.
type Editor struct {
	T    testing.TB
	Conn *conn.Conn
	// Requests are those of the agent, each waiting for its answer.
	Requests chan *Request
	Served   chan error
	prompted chan struct{}
	// Completed gets what the agent says is complete.
	Completed chan gjson.Result
	In        io.Closer
	// Wire is what the editor sends on, gate what it reads through.
	Wire *wire
	Gate *gate
	// Watch sees requests and updates in the order of the wire, and the end of
	// each request before its answer is sent.
	Watch interface {
		Arrives(ctx context.Context, method string, params gjson.Result)
		Answered(params gjson.Result)
	}

	// Pings, if set, lets the editor answer what asks whether it has seen something.
	Pings chan struct{}
	// Forget makes the editor keep no updates.
	Forget bool

	proc.Shared
	changed chan struct{}
	log     []gjson.Result // updates, in order
}

// Request is one request of the agent, open until it is answered.
type Request struct {
	gjson.Result // params
	Method       string
	Answer       chan any
	// Withdrawn is closed when the agent gave the request up.
	Withdrawn <-chan struct{}
}

// NewEditor joins an editor to an agent that run serves, over pipes.
func NewEditor(t testing.TB, run func(ctx context.Context, in io.Reader, out io.Writer) error) *Editor {
	agentIn, out := io.Pipe()
	in, agentOut := io.Pipe()
	e := &Editor{
		T: t, Requests: make(chan *Request, 100), Served: make(chan error, 1), prompted: make(chan struct{}, 100),
		Completed: make(chan gjson.Result, 100), In: in, Wire: &wire{WriteCloser: out}, Gate: &gate{r: in}, changed: make(chan struct{}),
	}
	go func() { e.Served <- run(context.Background(), agentIn, agentOut) }()
	e.Conn = conn.New(e.Gate, e.Wire, e, &conn.Options{Logger: slog.New(slog.DiscardHandler), Trace: e.trace})
	t.Cleanup(e.Leave)
	return e
}

// NewLogger makes a logger whose lines show in a test that fails.
func NewLogger(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(logWriter{t}, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

type logWriter struct{ t testing.TB }

func (w logWriter) Write(b []byte) (int, error) {
	if w.t.Context().Err() == nil {
		w.t.Log(strings.TrimSpace(string(b)))
	}
	return len(b), nil
}

// Leave closes the editor's end and waits for the agent to end.
func (e *Editor) Leave() {
	if e.Served == nil {
		return
	}
	e.Wire.Close()
	require.NoError(e.T, Next(e.T, e.Served))
	e.In.Close()
	e.Gate.Open()
	e.Conn.Close()
	e.Served = nil
}

func (e *Editor) Request(ctx context.Context, method string, params json.RawMessage) (any, error) {
	r := &Request{Result: gjson.ParseBytes(params), Method: method, Answer: make(chan any, 1), Withdrawn: ctx.Done()}
	e.Requests <- r
	if e.Watch != nil {
		defer e.Watch.Answered(r.Result)
	}
	select {
	case v := <-r.Answer:
		if err, ok := v.(error); ok {
			return nil, err
		}
		return v, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept lets watch see a request in its place among the updates.
func (e *Editor) Accept(ctx context.Context, method string, params json.RawMessage) conn.Answer {
	if strings.HasPrefix(method, "_acp-bridge/") { // as most editors do, in order
		return func() (any, error) {
			if e.Pings != nil {
				<-e.Pings
			}
			return nil, acp.NewMethodNotFound(method)
		}
	}
	if e.Watch != nil {
		e.Watch.Arrives(ctx, method, gjson.ParseBytes(params))
	}
	return nil
}

func (e *Editor) Notify(ctx context.Context, method string, params json.RawMessage) {
	if e.Watch != nil {
		e.Watch.Arrives(ctx, method, gjson.ParseBytes(params))
	}
	if method == acp.ClientMethodElicitationComplete {
		e.Completed <- gjson.ParseBytes(params)
	}
	if method != acp.ClientMethodSessionUpdate || e.Forget {
		return
	}
	e.Step(func() {
		e.log = append(e.log, gjson.ParseBytes(params))
		close(e.changed)
		e.changed = make(chan struct{})
	})
}

// Log is all updates so far, and what is closed with the next one.
func (e *Editor) Log() (list []gjson.Result, more <-chan struct{}) {
	e.Step(func() { list, more = e.log, e.changed })
	return list, more
}

func (r *Request) Selects(id string) { r.Reply(map[string]any{"outcome": "selected", "optionId": id}) }

func (r *Request) Types(text string) {
	r.Reply(map[string]any{"outcome": "selected", "optionId": "__other__", "_meta": map[string]any{"customText": text}})
}

func (r *Request) Cancels() { r.Reply(map[string]any{"outcome": "cancelled"}) }

func (r *Request) Reply(outcome any) { r.Answer <- map[string]any{"outcome": outcome} }

func (r *Request) Options() string {
	var names []string
	for _, o := range r.Get("options").Array() {
		names = append(names, o.Get("optionId").Str+"="+o.Get("name").Str)
	}
	return strings.Join(names, "|")
}

// Next waits for the agent's next request.
func (e *Editor) Next() *Request {
	e.T.Helper()
	return Next(e.T, e.Requests)
}

// Next waits for what comes next.
func Next[T any](t require.TestingT, from <-chan T) (next T) {
	select {
	case next = <-from:
	case <-time.After(Patience):
		require.Fail(t, fmt.Sprintf("no %T came", next))
	}
	return next
}

// Asked waits for the agent's next request and checks what it is about.
func (e *Editor) Asked(text string) *Request {
	e.T.Helper()
	r := e.Next()
	require.Contains(e.T, r.Raw, text)
	return r
}

func (e *Editor) Initialize(caps string) gjson.Result {
	e.T.Helper()
	return e.Call(acp.AgentMethodInitialize, fmt.Sprintf(`{"protocolVersion":1,"clientCapabilities":%s}`, caps))
}

func (e *Editor) Call(method, params string) gjson.Result {
	e.T.Helper()
	raw, err := e.Try(method, params)
	require.NoError(e.T, err)
	return gjson.ParseBytes(raw)
}

func (e *Editor) Try(method, params string) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(e.T.Context(), Patience)
	defer cancel()
	return e.Conn.Call(ctx, method, json.RawMessage(params))
}

// Open makes a session in a folder.
func (e *Editor) Open(cwd string) string {
	e.T.Helper()
	return e.Call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, cwd)).Get("sessionId").Str
}

// Ready initializes a plain client and opens a session in an empty folder.
func (e *Editor) Ready() string {
	e.T.Helper()
	e.Initialize(`{}`)
	return e.Open(e.T.TempDir())
}

// Turn is a prompt that runs.
type Turn struct {
	E    *Editor
	Done chan struct{}
	Resp gjson.Result
	Err  error
}

func (e *Editor) Prompt(session, text string) *Turn {
	return e.PromptBlocks(session, fmt.Sprintf(`[{"type":"text","text":%q}]`, text))
}

func (e *Editor) PromptBlocks(session, blocks string) *Turn {
	t := &Turn{E: e, Done: make(chan struct{})}
	ctx, cancel := context.WithTimeout(context.Background(), 2*Patience)
	go func() {
		defer cancel()
		defer close(t.Done)
		raw, err := e.Conn.Call(ctx, acp.AgentMethodSessionPrompt, json.RawMessage(fmt.Sprintf(`{"sessionId":%q,"prompt":%s}`, session, blocks)))
		t.Resp, t.Err = gjson.ParseBytes(raw), err
	}()
	select {
	case <-e.prompted: // what is sent from here on comes behind it
	case <-t.Done:
	}
	return t
}

// trace notes that a prompt is on its way.
func (e *Editor) trace(d ndjson.Direction, text []byte) {
	if d == ndjson.Out && gjson.GetBytes(text, "method").Str == acp.AgentMethodSessionPrompt {
		e.prompted <- struct{}{}
	}
}

// Ends waits for the prompt's response and checks its stop reason.
func (t *Turn) Ends(reason acp.StopReason) {
	t.E.T.Helper()
	<-t.Done
	require.NoError(t.E.T, t.Err)
	require.Equal(t.E.T, string(reason), t.Resp.Get("stopReason").Str)
}

// Fails waits for the prompt's error.
func (t *Turn) Fails(text string) *acp.RequestError {
	t.E.T.Helper()
	<-t.Done
	var re *acp.RequestError
	require.ErrorAs(t.E.T, t.Err, &re)
	require.Contains(t.E.T, re.Message, text)
	return re
}

// Runs fails the test if the prompt has its response.
func (t *Turn) Runs() {
	t.E.T.Helper()
	select {
	case <-t.Done:
		require.Fail(t.E.T, "the prompt has ended", t.Resp.Raw)
	default:
	}
}

// Failed waits for the prompt's end and reports whether that is an error.
func (t *Turn) Failed() bool {
	<-t.Done
	return t.Err != nil
}

func (e *Editor) Cancel(session string) {
	e.T.Helper()
	require.NoError(e.T, e.Conn.Notify(e.T.Context(), acp.AgentMethodSessionCancel, acp.CancelNotification{SessionId: acp.SessionId(session)}))
}

// Updates returns the updates of a session so far.
func (e *Editor) Updates(session string) []gjson.Result {
	list, _ := e.look(session)
	return list
}

// look is Updates, and what is closed with the next one.
func (e *Editor) look(session string) (list []gjson.Result, more <-chan struct{}) {
	all, more := e.Log()
	for _, u := range all {
		if u.Get("sessionId").Str == session {
			list = append(list, u.Get("update"))
		}
	}
	return list, more
}

// Text joins the chunks of a kind that a session has sent.
func (e *Editor) Text(session, kind string) string {
	var b strings.Builder
	for _, u := range e.Updates(session) {
		if u.Get("sessionUpdate").Str == kind {
			b.WriteString(u.Get("content.text").Str)
		}
	}
	return b.String()
}

func (e *Editor) Said(session string) string { return e.Text(session, "agent_message_chunk") }

// Tool returns the last known state of a tool call.
func (e *Editor) Tool(session, id string) map[string]string {
	state := map[string]string{}
	for _, u := range e.Updates(session) {
		if u.Get("toolCallId").Str != id {
			continue
		}
		if rung := u.Get("_meta.acp-bridge.rung"); rung.Exists() {
			state["rung"] = rung.Str
			state["rungs"] += rung.Str + " "
		}
		for _, key := range []string{"title", "kind", "status"} {
			if v := u.Get(key); v.Exists() {
				state[key] = v.Str
			}
		}
		if v := u.Get("content"); v.Exists() {
			state["content"] = v.Raw
		}
		if u.Get("sessionUpdate").Str == "tool_call" {
			state["drawn"] += "x"
		}
	}
	return state
}

// Await waits until an update of the session satisfies a condition.
func (e *Editor) Await(session string, what string, ok func(gjson.Result) bool) {
	e.T.Helper()
	deadline := time.After(Patience)
	for {
		list, changed := e.look(session)
		for _, u := range list {
			if ok(u) {
				return
			}
		}
		select {
		case <-changed:
		case <-deadline:
			require.Fail(e.T, "never came", what)
		}
	}
}
