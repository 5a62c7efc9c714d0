package adapter_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/conn"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var quiet = slog.New(slog.DiscardHandler)

// pick and multi are the questions that most tests ask.
var (
	pick  = convert.Question{Text: "Which database?", Header: "Database", Options: []convert.Option{{Label: "PostgreSQL"}, {Label: "SQLite"}}}
	multi = convert.Question{Text: "Which features?", Header: "Features", MultiSelect: true, Options: []convert.Option{{Label: "Auth"}, {Label: "Cache"}, {Label: "Logs"}}}
)

func callOf(id string, questions ...convert.Question) convert.Call {
	return convert.Call{Session: "s1", ID: id, Name: "AskUserQuestion", Questions: questions}
}

// editor is the client's end of a connection, a line of JSON at a time, so that
// a test can send what no SDK would.
type editor struct {
	t    testing.TB
	in   *bufio.Scanner
	pipe *io.PipeReader // what in reads
	out  *io.PipeWriter
	conn *conn.Conn

	mu      sync.Mutex
	updates []string
}

// newEditor joins an editor to an agent's connection. Both ends are gone when
// the test ends.
func newEditor(t testing.TB) *editor {
	agentIn, out := io.Pipe()
	in, agentOut := io.Pipe()
	e := &editor{t: t, in: bufio.NewScanner(in), pipe: in, out: out}
	e.in.Buffer(nil, 1<<20)
	e.conn = conn.New(agentIn, agentOut, nil, &conn.Options{Logger: quiet})
	t.Cleanup(e.leave)
	return e
}

// leave closes the editor's end and waits until the agent's has noticed.
func (e *editor) leave() {
	e.out.Close()
	e.pipe.Close()
	<-e.conn.Done()
	e.conn.Close()
}

// request reads up to the next request, past updates, which it keeps.
func (e *editor) request() gjson.Result {
	e.t.Helper()
	for e.in.Scan() {
		msg := gjson.Parse(e.in.Text())
		if msg.Get("id").Exists() {
			return msg
		}
		e.note(msg)
	}
	require.NoError(e.t, e.in.Err())
	require.Fail(e.t, "no request came")
	return gjson.Result{}
}

// notification reads up to the next notification of a method.
func (e *editor) notification(method string) gjson.Result {
	e.t.Helper()
	for e.in.Scan() {
		msg := gjson.Parse(e.in.Text())
		e.note(msg)
		if msg.Get("method").Str == method {
			return msg
		}
	}
	require.Fail(e.t, "no notification came", method)
	return gjson.Result{}
}

func (e *editor) note(msg gjson.Result) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if u := msg.Get("params.update"); u.Exists() {
		e.updates = append(e.updates, u.Get("toolCallId").Str+" "+u.Get("status").Str+" "+u.Get("content.0.content.text").Str)
	}
}

// drain reads on in the background, so that the agent's updates go through. The
// function it returns takes the last of them and leaves.
func (e *editor) drain() (leave func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e.in.Scan() {
			e.note(gjson.Parse(e.in.Text()))
		}
	}()
	return func() {
		require.NoError(e.t, e.conn.Close())
		e.leave()
		<-done
	}
}

// reply answers a request with the JSON of a whole response; ID stands for the
// request's id.
func (e *editor) reply(request gjson.Result, response string) {
	e.t.Helper()
	acptest.Must(io.WriteString(e.out, strings.ReplaceAll(response, "ID", request.Get("id").Raw)+"\n"))
}

func (e *editor) result(request gjson.Result, result string) {
	e.t.Helper()
	e.reply(request, `{"jsonrpc":"2.0","id":ID,"result":`+result+`}`)
}

func (e *editor) selects(request gjson.Result, id string) {
	e.t.Helper()
	quoted, _ := json.Marshal(id)
	e.result(request, `{"outcome":{"outcome":"selected","optionId":`+string(quoted)+`}}`)
}

func (e *editor) cancels(request gjson.Result) {
	e.t.Helper()
	e.result(request, `{"outcome":{"outcome":"cancelled"}}`)
}

// asked runs Ask in the background.
type asked struct {
	done    chan struct{}
	outcome convert.Outcome
	err     error
}

func begin(ctx context.Context, r adapter.Resolver, c convert.Call) *asked {
	a := &asked{done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.outcome, a.err = r.Ask(ctx, c)
	}()
	return a
}

func (a *asked) wait() convert.Outcome {
	<-a.done
	return a.outcome
}

// permissionOnly hides everything of a client but permission requests.
type permissionOnly struct{ adapter.Client }
