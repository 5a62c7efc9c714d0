package proxy

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
)

func TestMain(m *testing.M) {
	leaktest.Parallel(16)
	leaktest.Main(m)
}

// patience is how long anything may take.
const patience = 5 * time.Minute

// end is one end of a proxied connection, in the hands of a test.
type end struct {
	t     *testing.T
	w     *io.PipeWriter
	lines chan string
}

func newEnd(t *testing.T) (*end, Stream) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	e := &end{t: t, w: inW, lines: make(chan string, 100_000)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(e.lines)
		r := bufio.NewReaderSize(outR, 1<<20)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			e.lines <- strings.TrimSuffix(line, "\n")
		}
	}()
	t.Cleanup(func() {
		inW.Close()
		outW.Close()
		<-done
	})
	return e, Stream{In: inR, Out: outW}
}

// send writes lines, each with a line end.
func (e *end) send(lines ...string) {
	e.t.Helper()
	acptest.Must(io.WriteString(e.w, strings.Join(lines, "\n")+"\n"))
}

// next is the next line.
func (e *end) next() gjson.Result {
	e.t.Helper()
	line := acptest.Next(e.t, e.lines)
	require.True(e.t, json.Valid([]byte(line)), "the stream has ended, or: %s", line)
	return gjson.Parse(line)
}

// until skips lines up to one with this method.
func (e *end) until(method string) gjson.Result {
	e.t.Helper()
	for {
		if m := e.next(); m.Get("method").Str == method {
			return m
		}
	}
}

// reply is the next response; what comes before it is skipped.
func (e *end) reply() gjson.Result {
	e.t.Helper()
	for {
		if m := e.next(); !m.Get("method").Exists() {
			return m
		}
	}
}

// said is the next text that the agent says.
func (e *end) said() string {
	e.t.Helper()
	for {
		if u := e.next().Get("params.update"); u.Get("sessionUpdate").Str == "agent_message_chunk" {
			return u.Get("content.text").Str
		}
	}
}

// result answers a request that was read with next.
func (e *end) result(request gjson.Result, result string) {
	e.t.Helper()
	e.send(`{"jsonrpc":"2.0","id":` + request.Get("id").Raw + `,"result":` + result + `}`)
}

// quiet reports that nothing is there to read now.
func (e *end) quiet() bool { return len(e.lines) == 0 }

// proxied is an editor and an agent with a proxy between them.
type proxied struct {
	*testing.T
	editor, agent *end
	ended         chan error
	cancel        context.CancelCauseFunc
}

// start trusts prompts: the guards have their own tests.
func start(t *testing.T, o Options) *proxied {
	o.TrustPrompts = true
	return startGuarding(t, o)
}

func startGuarding(t *testing.T, o Options) *proxied {
	return startWith(t, func(ctx context.Context, editor, agent Stream) error { return Relay(ctx, editor, agent, o) })
}

func startWith(t *testing.T, run func(ctx context.Context, editor, agent Stream) error) *proxied {
	editor, toEditor := newEnd(t)
	agent, toAgent := newEnd(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	p := &proxied{T: t, editor: editor, agent: agent, ended: make(chan error, 1), cancel: cancel}
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		p.ended <- run(ctx, toEditor, toAgent)
	}()
	t.Cleanup(func() {
		cancel(nil)
		for _, s := range []Stream{toEditor, toAgent} { // what Serve does by ending the process
			s.In.(*io.PipeReader).Close()
			s.Out.(*io.PipeWriter).Close()
		}
		<-finished
	})
	return p
}

// initialize lets the editor say what it can do.
func (p *proxied) initialize(capabilities string) {
	p.Helper()
	p.editor.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":1,"clientCapabilities":` + capabilities + `}}`)
	p.agent.result(p.agent.next(), `{"protocolVersion":1}`)
	require.Equal(p, "init", p.editor.next().Get("id").Str)
}

// initialized is start with an editor that has said what it can do.
func initialized(t *testing.T, o Options, capabilities string) *proxied {
	p := start(t, o)
	p.initialize(capabilities)
	return p
}

// prompted is initialized, and a prompt runs.
func prompted(t *testing.T, o Options) *proxied {
	p := initialized(t, o, noForms)
	p.prompt("p1", "go")
	require.Equal(t, "p1", p.agent.next().Get("id").Str)
	return p
}

// dialog is initialized, and the editor shows a question with buttons.
func dialog(t *testing.T, o Options) (*proxied, gjson.Result) {
	p := initialized(t, o, noForms)
	p.agent.send(oneLine(grokAsks))
	return p, p.editor.until("session/request_permission")
}

const (
	noForms   = `{}`
	withForms = `{"elicitation":{"form":{}}}`
	// blind is an editor that shows nothing while none of its prompts runs.
	blind = `{},"clientInfo":{"name":"CodeCompanion.nvim","version":"1"}`
	// quiet is an editor that tells its user of no request that it does not know.
	quiet = `{},"clientInfo":{"name":"zed","version":"1"}`
)
