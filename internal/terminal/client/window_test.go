//go:build unix

package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/conn"
	"github.com/acp-bridge/acp-bridge/internal/seen"
	"github.com/acp-bridge/acp-bridge/internal/terminal/client"
	"github.com/acp-bridge/acp-bridge/internal/terminal/ttytest"
)

// window is a client on a terminal, in this process, whose agent is the test.
type window struct {
	t    *testing.T
	ptmx *os.File
	conn *conn.Conn
	done chan error
	hang func() // closes the agent's end

	prompts chan *prompt
	cancels chan struct{}
	agent   func(method string, params json.RawMessage) any // answers first, if not nil

	mu      sync.Mutex
	changed chan struct{}
	out     strings.Builder
	mark    int // how much of it the test has seen
}

type prompt struct {
	words  string
	answer chan any // a stop reason, or an error
}

func openWindow(t *testing.T, o client.Options) *window { return openWith(t, o, nil) }

func openWith(t *testing.T, o client.Options, agent func(method string, params json.RawMessage) any) *window {
	ptmx, tty := acptest.Must2(pty.Open())
	require.NoError(t, pty.Setsize(ptmx, &pty.Winsize{Cols: 80, Rows: 24}))
	w := &window{t: t, agent: agent, ptmx: ttytest.Pollable(t, ptmx), done: make(chan error, 1),
		prompts: make(chan *prompt, 10), cancels: make(chan struct{}, 10), changed: make(chan struct{})}
	agentIn, toAgent := io.Pipe()
	fromAgent, agentOut := io.Pipe()
	w.hang = func() { agentOut.Close() }
	w.conn = conn.New(agentIn, agentOut, w, &conn.Options{Logger: slog.New(slog.DiscardHandler)})
	o.In, o.Out = tty, tty
	o.Environ = func(name string) string { return map[string]string{"TERM": "xterm", "XTERM_VERSION": "1"}[name] }
	read := make(chan struct{})
	go w.read(read)
	go func() { w.done <- client.Run(context.Background(), fromAgent, toAgent, o) }()
	t.Cleanup(func() {
		toAgent.Close()
		agentOut.Close()
		w.conn.Close()
		tty.Close()
		w.ptmx.Close()
		<-read
	})
	return w
}

func (w *window) read(done chan<- struct{}) {
	defer close(done)
	buf := make([]byte, 4096)
	for {
		n, err := w.ptmx.Read(buf)
		if err != nil {
			return
		}
		w.mu.Lock()
		w.out.Write(buf[:n])
		close(w.changed)
		w.changed = make(chan struct{})
		w.mu.Unlock()
	}
}

func (w *window) Notify(_ context.Context, method string, _ json.RawMessage) {
	if method == acp.AgentMethodSessionCancel {
		w.cancels <- struct{}{}
	}
}

func (w *window) Request(ctx context.Context, method string, params json.RawMessage) (any, error) {
	if w.agent != nil {
		if reply := w.agent(method, params); reply != nil {
			return reply, nil
		}
	}
	switch method {
	case acp.AgentMethodInitialize:
		return json.RawMessage(`{"protocolVersion":1}`), nil
	case acp.AgentMethodSessionNew:
		return json.RawMessage(`{"sessionId":"s"}`), nil
	}
	var r acp.PromptRequest
	if err := json.Unmarshal(params, &r); err != nil {
		return nil, err
	}
	p := &prompt{r.Prompt[0].Text.Text, make(chan any, 1)}
	w.prompts <- p
	select {
	case v := <-p.answer:
		if err, ok := v.(error); ok {
			return nil, err
		}
		return map[string]any{"stopReason": v}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// sees waits until something new holds the text.
func (w *window) sees(text string) {
	w.t.Helper()
	deadline := time.After(patience)
	for {
		w.mu.Lock()
		out, changed := w.out.String()[w.mark:], w.changed
		if i := strings.Index(out, text); i >= 0 {
			w.mark += i + len(text)
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		select {
		case <-changed:
		case <-deadline:
			require.Fail(w.t, "not seen", "%q in\n%q", text, out)
		}
	}
}

func (w *window) types(keys string) {
	w.t.Helper()
	acptest.Must(io.WriteString(w.ptmx, keys))
}

// asks sends a request as the agent.
func (w *window) asks(ctx context.Context, method, params string) <-chan string {
	reply := make(chan string, 1)
	go func() {
		raw, err := w.conn.Call(ctx, method, json.RawMessage(params))
		if err != nil {
			raw = []byte(err.Error())
		}
		reply <- string(raw)
	}()
	return reply
}

func (w *window) prompted() *prompt {
	w.t.Helper()
	w.types("go\r")
	return acptest.Next(w.t, w.prompts)
}

// openWorking opens a window whose agent has a prompt.
func openWorking(t *testing.T) (*window, *prompt) {
	t.Helper()
	w := openWindow(t, client.Options{})
	w.sees(">")
	return w, w.prompted()
}

// insists types a key until there is a reply, with time enough between that it
// can be meant for the picker.
func (w *window) insists(key string, reply <-chan string) string {
	w.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		select {
		case r := <-reply:
			return r
		case <-time.After(500 * time.Millisecond):
			w.types(key)
		}
	}
	require.Fail(w.t, "no reply")
	return ""
}

// rests is a person's time before keys are meant for what is seen.
func (w *window) rests() { time.Sleep(3 * seen.Hands) }

// presses rests, and then presses keys as fingers do, each when the one before has had
// its effect. What is one piece is pasted.
func (w *window) presses(pieces ...string) {
	w.t.Helper()
	w.rests()
	for _, keys := range pieces {
		w.mu.Lock()
		changed := w.changed
		w.mu.Unlock()
		w.types(keys)
		select {
		case <-changed:
		case <-time.After(2 * seen.Hands): // it has none
		}
		time.Sleep(8 * seen.Burst)
	}
}

// leaves with Ctrl+D. A key right after a question was withdrawn was meant for
// that.
func (w *window) leaves() error {
	w.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		w.types("\x04")
		select {
		case err := <-w.done:
			return err
		case <-time.After(500 * time.Millisecond):
		}
	}
	require.Fail(w.t, "it did not leave")
	return nil
}

const (
	permission = `{"sessionId":"s","toolCall":{"toolCallId":"t","title":"make test"},"options":[
		{"optionId":"yes","name":"Allow","kind":"allow_once"},{"optionId":"no","name":"Reject","kind":"reject_once"}]}`
	form = `{"mode":"form","sessionId":"s","message":"How many?","requestedSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}`
)

// A command of 27 lines: its last line is there, and v shows all of it.
func TestWindowPermissionShowsAll(t *testing.T) {
	t.Parallel()
	command := "set -e\\n" + strings.Repeat("echo step\\n", 25) + "rm -rf ~/"
	w, _ := openWorking(t)
	reply := w.asks(t.Context(), acp.ClientMethodSessionRequestPermission, strings.Replace(permission, `"make test"`,
		`"Run it","content":[{"type":"content","content":{"type":"text","text":"`+command+`"}}]`, 1))
	w.sees("set -e")
	w.sees("more lines: v shows all")
	w.sees("rm -rf ~/")
	w.sees("2. Reject")
	w.presses("v", "\x1b[F") // End
	w.sees("of 29")
	w.presses("\x0f") // Ctrl+O
	w.sees("2. Reject")
	w.presses("2")
	require.JSONEq(t, `{"outcome":{"outcome":"selected","optionId":"no"}}`, acptest.Next(t, reply))
	w.quits()
}

const twoFields = `{"sessionId":"s","mode":"form","message":"Who?","requestedSchema":{"type":"object",
	"properties":{"name":{"type":"string","title":"Your name?"},"age":{"type":"integer","title":"How old?"}},"required":["name","age"]}}`

// A key that was meant for a question that is gone does not answer the one that
// takes its place, however long the user had not typed before.
func TestWindowNextAfterWithdrawn(t *testing.T) {
	w, _ := openWorking(t)
	ctx, withdraw := context.WithCancel(t.Context())
	w.asks(ctx, acp.ClientMethodSessionRequestPermission, permission)
	w.sees("2. Reject")
	second := w.asks(t.Context(), acp.ClientMethodSessionRequestPermission, strings.ReplaceAll(permission, "make test", "make clean"))
	withdraw()
	w.sees("The agent withdrew its question: make test")
	w.sees("make clean")
	w.sees("Press Enter to answer this one")
	w.types("1\r1")
	w.ptmx.Close()
	acptest.Next(t, w.done)
	require.NotContains(t, acptest.Next(t, second), "selected")
}

// A picker that opens takes no key for an answer that comes at once, whether hands
// type at that moment, rest above an unfinished line, or have not typed at all. If
// the machine is slower than hands that rest, this is tried again.
func TestRule3WindowKeyAtOnce(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(*window){
		"typing":             func(w *window) { w.types("1"); w.sees("> 1") },
		"an unfinished line": func(w *window) { w.types("1"); w.sees("> 1"); w.rests() },
		"nothing":            func(w *window) { w.rests() },
	} {
		for _, key := range []string{"\r", "1"} {
			t.Run(fmt.Sprintf("%s, %q", name, key), func(t *testing.T) {
				t.Parallel()
				for kept := false; !kept; {
					w, _ := openWorking(t)
					w.sees("Working")
					before(w)
					began := time.Now()
					reply := w.asks(t.Context(), acp.ClientMethodSessionRequestPermission, permission)
					w.sees("2. Reject")
					w.types(key)
					said := w.insists("2", reply)
					if kept = strings.Contains(said, "no"); !kept {
						require.GreaterOrEqual(t, time.Since(began), seen.Hands, "%s, by a key that was meant for something else", said)
					}
					w.quits()
				}
			})
		}
	}
}

func (w *window) updates(updates ...string) { w.t.Helper(); w.updatesIn("s", updates...) }

func (w *window) updatesIn(session string, updates ...string) {
	w.t.Helper()
	for _, u := range updates {
		require.NoError(w.t, w.conn.Notify(w.t.Context(), acp.ClientMethodSessionUpdate, json.RawMessage(`{"sessionId":"`+session+`","update":`+u+`}`)))
	}
}

// Ctrl+O shows full output of tools. A question that comes meanwhile waits
// for the reader.
func TestWindowOutputs(t *testing.T) {
	t.Parallel()
	w := openWindow(t, client.Options{})
	w.sees(">")
	w.types("\x0f")
	w.sees("No tool output yet")
	w.prompted()
	w.updates(`{"sessionUpdate":"tool_call","toolCallId":"1","title":"make","status":"completed","content":[{"type":"content","content":{"type":"text","text":"` +
		strings.Repeat(`a line\n`, 50) + `the last line"}}]}`)
	w.sees("… 48 more lines")
	w.types("\x0f")
	w.sees("the last line")
	w.sees("of 52")
	reply := w.asks(t.Context(), acp.ClientMethodSessionRequestPermission, permission)
	w.sees("A question is waiting: Esc shows it")
	w.types("\r \x1b[Hg")
	w.sees("── make ──")
	w.types("q")
	w.sees("2. Reject")
	require.JSONEq(t, `{"outcome":{"outcome":"selected","optionId":"no"}}`, w.insists("2", reply))
	w.quits()
}

// A session is chosen from a list, told again, and goes on; its prompts can be
// recalled.
func TestWindowResumes(t *testing.T) {
	t.Parallel()
	loaded := make(chan string, 1)
	var w *window
	agent := func(method string, params json.RawMessage) any {
		switch method {
		case acp.AgentMethodInitialize:
			return json.RawMessage(`{"protocolVersion":1,"agentInfo":{"name":"bot","version":"7"},"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"list":{}}}}`)
		case acp.AgentMethodSessionList:
			if !strings.Contains(string(params), "cursor") {
				return json.RawMessage(`{"sessions":[{"sessionId":"a","cwd":"/","title":"Fix the \u001b[2Jbuild"}],"nextCursor":"2"}`)
			}
			return json.RawMessage(`{"sessions":[{"sessionId":"b","cwd":"/","updatedAt":"2020-01-02T03:04:05Z"}]}`)
		case acp.AgentMethodSessionLoad:
			loaded <- string(params)
			w.updates(`{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"what I said"}}`,
				`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"what it said"}}`)
			return json.RawMessage(`{}`)
		}
		return nil
	}
	w = openWith(t, client.Options{Resume: true, Dir: "/srv"}, agent)
	w.sees("Which session do you want to continue?")
	w.sees("1. Fix the build")
	w.sees("2. b")
	w.sees("2020")
	require.JSONEq(t, `{"sessionId":"b","cwd":"/srv","mcpServers":[]}`, w.insists("2", loaded))
	w.sees("> what I said")
	w.sees("what it said")
	w.sees("bot 7")
	w.types("\x1b[A\r")
	require.Equal(t, "what I said", acptest.Next(t, w.prompts).words)
	w.quits()

	w = openWith(t, client.Options{Resume: true}, agent)
	w.sees("Which session")
	w.rests()
	w.types("\x1b")
	require.ErrorIs(t, acptest.Next(t, w.done), client.ErrCancelled)

	w = openWindow(t, client.Options{Resume: true})
	require.ErrorContains(t, acptest.Next(t, w.done), "the agent cannot list its sessions")
}

// What is sent before the session is there goes out when it is there; what was
// changed after that waits for its Enter.
func TestPromptBeforeTheSession(t *testing.T) {
	for name, changed := range map[string]bool{"sent": false, "changed": true} {
		t.Run(name, func(t *testing.T) {
			ready := make(chan struct{})
			w := openWith(t, client.Options{}, func(method string, _ json.RawMessage) any {
				if method == acp.AgentMethodSessionNew {
					<-ready
				}
				return nil
			})
			w.sees("Starting")
			w.types("go\r")
			w.sees("as soon as the agent is ready")
			want := "go"
			if changed {
				w.types("\x7f\x0f") // Ctrl+O: its hint says that the key before it was seen
				w.sees("No tool output yet")
				want = "git"
			}
			close(ready)
			w.sees("Enter sends")
			if changed {
				w.types("it\r")
			}
			p := acptest.Next(t, w.prompts)
			require.Equal(t, want, p.words)
			p.answer <- "end_turn"
			require.NoError(t, w.leaves())
		})
	}
}
