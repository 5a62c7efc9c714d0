package backend_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	"github.com/acp-bridge/acp-bridge/internal/conn"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

// patience is how long a test waits for something that must happen.
const patience = 5 * time.Minute

// editor is an ACP client joined to the agent by a real connection. It keeps
// what it is sent; a test answers requests as they come.
type editor struct {
	t    testing.TB
	conn *conn.Conn
	// requests are those of the agent, each waiting for its answer.
	requests chan *request
	served   chan error
	prompted chan struct{}
	// completed gets what the agent says is complete.
	completed chan gjson.Result
	in        io.Closer
	// wire is what the editor sends on, gate what it reads through.
	wire *wire
	gate *gate
	// watch sees requests and updates in the order of the wire, and the end of
	// each request before its answer is sent.
	watch interface {
		arrives(ctx context.Context, method string, params gjson.Result)
		answered(params gjson.Result)
	}

	// forget makes the editor keep no updates.
	forget bool
	// pause, if set, stops the editor from reading until it is closed.
	pause chan struct{}

	mu      sync.Mutex
	changed chan struct{}
	log     []gjson.Result // updates, in order
}

// request is one request of the agent, open until it is answered.
type request struct {
	gjson.Result // params
	method       string
	answer       chan any
	// withdrawn is closed when the agent gave the request up.
	withdrawn <-chan struct{}
}

// serving is how an agent is served: [backend.Serve], or something around it.
type serving func(context.Context, io.Reader, io.Writer, backend.Options) error

// serve starts an agent with an editor.
func serve(t testing.TB, opts backend.Options) *editor { return serveWith(t, opts, backend.Serve) }

// serveWith is serve with something else in the place of the agent.
func serveWith(t testing.TB, opts backend.Options, run serving) *editor {
	agentIn, out := io.Pipe()
	in, agentOut := io.Pipe()
	e := &editor{
		t: t, requests: make(chan *request, 100), served: make(chan error, 1), prompted: make(chan struct{}, 100),
		completed: make(chan gjson.Result, 100), in: in, wire: &wire{w: out}, gate: newGate(in), changed: make(chan struct{}),
	}
	opts.TrustPrompts = true                              // the guards have their own tests
	opts.CancelGrace = cmp.Or(opts.CancelGrace, patience) // a CLI on a busy machine is not killed
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.NewTextHandler(logWriter{t}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	go func() { e.served <- run(context.Background(), agentIn, agentOut, opts) }()
	e.conn = conn.New(e.gate, e.wire, e, &conn.Options{Logger: slog.New(slog.DiscardHandler), Trace: e.trace})
	t.Cleanup(e.leave)
	return e
}

// logWriter shows the agent's log of a test that fails.
type logWriter struct{ t testing.TB }

func (w logWriter) Write(b []byte) (int, error) {
	if w.t.Context().Err() == nil {
		w.t.Log(strings.TrimSpace(string(b)))
	}
	return len(b), nil
}

// leave closes the editor's end and waits for the agent to end.
func (e *editor) leave() {
	if e.served == nil {
		return
	}
	e.wire.Close()
	select {
	case err := <-e.served:
		require.NoError(e.t, err)
	case <-time.After(patience):
		e.t.Error("the agent did not end")
	}
	e.in.Close()
	e.gate.open()
	e.conn.Close()
	e.served = nil
}

func (e *editor) Request(ctx context.Context, method string, params json.RawMessage) (any, error) {
	r := &request{Result: gjson.ParseBytes(params), method: method, answer: make(chan any, 1), withdrawn: ctx.Done()}
	e.requests <- r
	if e.watch != nil {
		defer e.watch.answered(r.Result)
	}
	select {
	case v := <-r.answer:
		if err, ok := v.(error); ok {
			return nil, err
		}
		return v, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept lets watch see a request in its place among the updates.
func (e *editor) Accept(ctx context.Context, method string, params json.RawMessage) conn.Answer {
	if strings.HasPrefix(method, "_acp-bridge/") { // as most editors do, in order
		return func() (any, error) { return nil, acp.NewMethodNotFound(method) }
	}
	if e.watch != nil {
		e.watch.arrives(ctx, method, gjson.ParseBytes(params))
	}
	return nil
}

func (e *editor) Notify(ctx context.Context, method string, params json.RawMessage) {
	if e.watch != nil {
		e.watch.arrives(ctx, method, gjson.ParseBytes(params))
	}
	if method == acp.ClientMethodElicitationComplete {
		e.completed <- gjson.ParseBytes(params)
	}
	if method != acp.ClientMethodSessionUpdate || e.forget {
		return
	}
	if e.pause != nil {
		<-e.pause
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.log = append(e.log, gjson.ParseBytes(params))
	close(e.changed)
	e.changed = make(chan struct{})
}

func (r *request) selects(id string) { r.reply(map[string]any{"outcome": "selected", "optionId": id}) }

func (r *request) types(text string) {
	r.reply(map[string]any{"outcome": "selected", "optionId": "__other__", "_meta": map[string]any{"customText": text}})
}

func (r *request) cancels() { r.reply(map[string]any{"outcome": "cancelled"}) }

func (r *request) reply(outcome any) { r.answer <- map[string]any{"outcome": outcome} }

func (r *request) options() string {
	var names []string
	for _, o := range r.Get("options").Array() {
		names = append(names, o.Get("optionId").Str+"="+o.Get("name").Str)
	}
	return strings.Join(names, "|")
}

// next waits for the agent's next request.
func (e *editor) next() *request {
	e.t.Helper()
	select {
	case r := <-e.requests:
		return r
	case <-time.After(patience):
		require.Fail(e.t, "no request came")
		return nil
	}
}

// asked waits for the agent's next request and checks what it is about.
func (e *editor) asked(text string) *request {
	e.t.Helper()
	r := e.next()
	require.Contains(e.t, r.Raw, text)
	return r
}

func (e *editor) initialize(caps string) gjson.Result {
	e.t.Helper()
	return e.call(acp.AgentMethodInitialize, fmt.Sprintf(`{"protocolVersion":1,"clientCapabilities":%s}`, caps))
}

func (e *editor) call(method, params string) gjson.Result {
	e.t.Helper()
	raw, err := e.try(method, params)
	require.NoError(e.t, err)
	return gjson.ParseBytes(raw)
}

func (e *editor) try(method, params string) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(e.t.Context(), patience)
	defer cancel()
	return e.conn.Call(ctx, method, json.RawMessage(params))
}

// open makes a session in a folder.
func (e *editor) open(cwd string) string {
	e.t.Helper()
	return e.call(acp.AgentMethodSessionNew, fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, cwd)).Get("sessionId").Str
}

// ready initializes a plain client and opens a session in an empty folder.
func (e *editor) ready() string {
	e.t.Helper()
	e.initialize(`{}`)
	return e.open(e.t.TempDir())
}

// turn is a prompt that runs.
type turn struct {
	e    *editor
	done chan struct{}
	resp gjson.Result
	err  error
}

func (e *editor) prompt(session, text string) *turn {
	return e.promptBlocks(session, fmt.Sprintf(`[{"type":"text","text":%q}]`, text))
}

func (e *editor) promptBlocks(session, blocks string) *turn {
	t := &turn{e: e, done: make(chan struct{})}
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	go func() {
		defer cancel()
		defer close(t.done)
		raw, err := e.conn.Call(ctx, acp.AgentMethodSessionPrompt, json.RawMessage(fmt.Sprintf(`{"sessionId":%q,"prompt":%s}`, session, blocks)))
		t.resp, t.err = gjson.ParseBytes(raw), err
	}()
	select {
	case <-e.prompted: // what is sent from here on comes behind it
	case <-t.done:
	}
	return t
}

// trace notes that a prompt is on its way.
func (e *editor) trace(d ndjson.Direction, text []byte) {
	if d == ndjson.Out && gjson.GetBytes(text, "method").Str == acp.AgentMethodSessionPrompt {
		e.prompted <- struct{}{}
	}
}

// ends waits for the prompt's response and checks its stop reason.
func (t *turn) ends(reason acp.StopReason) {
	t.e.t.Helper()
	<-t.done
	require.NoError(t.e.t, t.err)
	require.Equal(t.e.t, string(reason), t.resp.Get("stopReason").Str)
}

// fails waits for the prompt's error.
func (t *turn) fails(text string) *acp.RequestError {
	t.e.t.Helper()
	<-t.done
	var re *acp.RequestError
	require.ErrorAs(t.e.t, t.err, &re)
	require.Contains(t.e.t, re.Message, text)
	return re
}

// failed waits for the prompt's end and reports whether that is an error.
func (t *turn) failed() bool {
	<-t.done
	return t.err != nil
}

func (e *editor) cancel(session string) {
	e.t.Helper()
	require.NoError(e.t, e.conn.Notify(e.t.Context(), acp.AgentMethodSessionCancel, acp.CancelNotification{SessionId: acp.SessionId(session)}))
}

// updates returns the updates of a session so far.
func (e *editor) updates(session string) []gjson.Result {
	e.mu.Lock()
	defer e.mu.Unlock()
	var list []gjson.Result
	for _, u := range e.log {
		if u.Get("sessionId").Str == session {
			list = append(list, u.Get("update"))
		}
	}
	return list
}

// text joins the chunks of a kind that a session has sent.
func (e *editor) text(session, kind string) string {
	var b strings.Builder
	for _, u := range e.updates(session) {
		if u.Get("sessionUpdate").Str == kind {
			b.WriteString(u.Get("content.text").Str)
		}
	}
	return b.String()
}

func (e *editor) said(session string) string { return e.text(session, "agent_message_chunk") }

// messages are the agent's words by the name of their message. Every chunk has one.
func (e *editor) messages(session string) map[string]string {
	list := map[string]string{}
	for _, u := range e.updates(session) {
		if kind, text := u.Get("sessionUpdate").Str, u.Get("content.text"); strings.HasSuffix(kind, "_chunk") && text.Exists() {
			require.NotEmpty(e.t, u.Get("messageId").Str, u.Raw)
			if kind != "user_message_chunk" {
				list[u.Get("messageId").Str] += text.Str
			}
		}
	}
	return list
}

// tool returns the last known state of a tool call.
func (e *editor) tool(session, id string) map[string]string {
	state := map[string]string{}
	for _, u := range e.updates(session) {
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

// await waits until an update of the session satisfies a condition.
func (e *editor) await(session string, what string, ok func(gjson.Result) bool) {
	e.t.Helper()
	deadline := time.After(patience)
	for {
		e.mu.Lock()
		changed := e.changed
		e.mu.Unlock()
		for _, u := range e.updates(session) {
			if ok(u) {
				return
			}
		}
		select {
		case <-changed:
		case <-deadline:
			require.Fail(e.t, "never came", what)
		}
	}
}

func contextWithCancel(t *testing.T) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	return ctx, cancel
}

// lineReader reads the agent's lines one at a time, and no further.
type lineReader struct{ r *bufio.Reader }

func newLineReader(r io.Reader) *lineReader { return &lineReader{bufio.NewReader(r)} }

// until reads up to a line that holds text, and returns it.
func (l *lineReader) until(t *testing.T, text string) string {
	t.Helper()
	for {
		line, err := l.r.ReadString('\n')
		require.NoError(t, err)
		if strings.Contains(line, text) {
			return line
		}
	}
}
