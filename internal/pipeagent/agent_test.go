package pipeagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/pipe"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/conn"
	_ "github.com/acp-bridge/acp-bridge/internal/conn/wiretest"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
	"github.com/acp-bridge/acp-bridge/internal/pipeagent"
	"github.com/acp-bridge/acp-bridge/internal/seen"
)

const patience = 5 * time.Minute

// The test binary is also the command: an agent that asks on its pipe and says
// what it got.
func TestMain(m *testing.M) {
	if dialect := os.Getenv("PIPE_AGENT"); dialect != "" {
		os.Exit(play(dialect, os.Args[len(os.Args)-1]))
	}
	leaktest.Main(m)
}

var questions = []convert.Question{
	{Text: "Which database?", Header: "Database", Options: []convert.Option{{Label: "PostgreSQL"}, {Label: "SQLite"}}},
	{Text: "What name?"},
}

func play(dialect, prompt string) int {
	fmt.Println("working on " + prompt)
	fmt.Println(`{"type":"progress","step":1}`)
	switch prompt {
	case "fail":
		fmt.Fprintln(os.Stderr, "out of luck")
		return 3
	case "hang":
		select {}
	}
	asker := &pipe.Asker{In: os.Stdin, Out: os.Stdout, Dialect: dialect}
	o, err := asker.Ask(context.Background(), convert.Call{Questions: questions})
	if err != nil {
		fmt.Println("no answer: " + err.Error())
		return 0
	}
	for _, a := range o.Answers {
		fmt.Println("got " + strings.Join(a.Items(), ", "))
	}
	return 0
}

// client is an editor, played by the test.
type client struct {
	t        *testing.T
	conn     *conn.Conn
	requests chan request
	said     chan string
}

type request struct {
	gjson.Result
	method string
	answer chan any
}

func (c *client) Request(ctx context.Context, method string, params json.RawMessage) (any, error) {
	if strings.HasPrefix(method, "_") {
		return nil, acp.NewMethodNotFound(method)
	}
	r := request{gjson.ParseBytes(params), method, make(chan any, 1)}
	c.requests <- r
	select {
	case v := <-r.answer:
		return v, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *client) Notify(_ context.Context, _ string, params json.RawMessage) {
	u := gjson.GetBytes(params, "update")
	if u.Get("sessionUpdate").Str == "agent_message_chunk" {
		c.said <- u.Get("content.text").Str
	}
}

// serve starts the agent with a client, and returns how to leave.
func serve(t *testing.T, o pipeagent.Options) (c *client, leave func()) {
	in, out := io.Pipe()
	back, w := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- pipeagent.Serve(context.Background(), in, w, o) }()
	c = &client{t: t, requests: make(chan request, 9), said: make(chan string, 99)}
	c.conn = conn.New(back, out, c, nil)
	left := false
	leave = func() {
		if left {
			return
		}
		left = true
		require.NoError(t, out.Close())
		require.NoError(t, <-served)
		back.Close()
		c.conn.Close()
	}
	t.Cleanup(leave)
	c.call("initialize", `{"protocolVersion":1,"clientCapabilities":{}}`)
	return c, leave
}

func (c *client) call(method, params string) gjson.Result {
	c.t.Helper()
	raw, err := c.conn.Call(c.t.Context(), method, json.RawMessage(params))
	require.NoError(c.t, err)
	return gjson.ParseBytes(raw)
}

func (c *client) open() string {
	return c.call("session/new", `{"cwd":"`+filepath.ToSlash(c.t.TempDir())+`","mcpServers":[]}`).Get("sessionId").Str
}

type ending struct {
	reason string
	err    error
}

func (c *client) prompt(session, text string) <-chan ending {
	done := make(chan ending, 1)
	go func() {
		raw, err := c.conn.Call(context.Background(), "session/prompt", json.RawMessage(`{"sessionId":"`+session+`","prompt":[{"type":"text","text":"`+text+`"}]}`))
		done <- ending{gjson.GetBytes(raw, "stopReason").Str, err}
	}()
	return done
}

// says waits until the agent has said something.
func (c *client) says(want string) { c.t.Helper(); c.saysOne(want) }

// saysOne waits until the agent has said one of several things, and returns which.
func (c *client) saysOne(wants ...string) int {
	c.t.Helper()
	for all := ""; ; {
		if i := slices.IndexFunc(wants, func(w string) bool { return strings.Contains(all, w) }); i >= 0 {
			return i
		}
		select {
		case more := <-c.said:
			all += more
		case <-time.After(patience):
			require.Fail(c.t, "not said", "%q in %q", wants, all)
		}
	}
}

func (r request) selects(id string) {
	r.answer <- map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": id}}
}

func command(t *testing.T, dialect string) []string {
	self, err := os.Executable()
	require.NoError(t, err)
	t.Setenv("PIPE_AGENT", dialect)
	return []string{self}
}

// The whole way: a command asks on its pipe, the user answers in the editor, the
// last question in the conversation, and the command has the answers. If the machine
// is slower than a person, this is tried again.
func TestCommand(t *testing.T) {
	// pi asks both in one call, Opal in two.
	for dialect, place := range map[string][2]string{"pi": {"\n\nQuestion 1 of 2.", "\n\nQuestion 2 of 2."}, "opal": {}} {
		t.Run(dialect, func(t *testing.T) {
			c, _ := serve(t, pipeagent.Options{Command: command(t, dialect)})
			s := c.open()
			for early := false; !early; {
				turn := c.prompt(s, "a name")
				c.says("working on a name\n")
				r := <-c.requests
				require.Equal(t, "session/request_permission", r.method)
				require.Equal(t, "Which database?"+place[0], r.Get("toolCall.content.0.content.text").Str)
				if dialect == "opal" {
					require.Equal(t, "Which database?", r.Get("toolCall.title").Str)
				}
				r.selects("SQLite")
				r = <-c.requests
				require.Equal(t, "What name?"+place[1], r.Get("toolCall.content.0.content.text").Str)
				began := time.Now()
				r.selects("__other__") // without a text: it is asked for in the conversation
				c.says("What name?")
				require.Equal(t, ending{reason: "end_turn"}, <-turn)
				// Sent at once it was typed before the question can have been read.
				turn = c.prompt(s, "typed ahead")
				if early = c.saysOne("before you can have read this question", "got typed ahead\n") == 0; !early {
					require.GreaterOrEqual(t, time.Since(began), seen.Person)
				}
				require.Equal(t, ending{reason: "end_turn"}, <-turn)
			}
			for again := true; again; {
				turn := c.prompt(s, "orders")
				again = c.saysOne("before you can have read this question", "got orders\n") == 0
				require.Equal(t, ending{reason: "end_turn"}, <-turn)
			}
		})
	}
}

// A cancelled turn ends the command, also one that asks nothing, and a command
// that fails says so.
func TestCommandEnds(t *testing.T) {
	c, _ := serve(t, pipeagent.Options{Command: command(t, "pi")})
	s := c.open()
	for _, text := range []string{"hang", "ask"} {
		turn := c.prompt(s, text)
		c.says("working")
		if text == "ask" {
			<-c.requests
		}
		require.NoError(t, c.conn.Notify(t.Context(), "session/cancel", json.RawMessage(`{"sessionId":"`+s+`"}`)))
		require.Equal(t, ending{reason: "cancelled"}, <-turn)
	}
	end := <-c.prompt(s, "fail")
	var re *acp.RequestError
	require.True(t, errors.As(end.err, &re), "%v", end.err)
	require.Contains(t, re.Message, "exit status 3: out of luck")
}

// Agents elsewhere are asked for in the session that was opened last; what they
// ask before there is one waits.
func TestSocket(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	require.NoError(t, err)
	c, leave := serve(t, pipeagent.Options{Listener: l, First: adapter.Permission})
	dial := func(dialect string) *pipe.Asker {
		conn, err := net.Dial("unix", l.Addr().String())
		require.NoError(t, err)
		a := &pipe.Asker{In: conn, Out: conn, Dialect: dialect}
		t.Cleanup(func() { a.Close() })
		return a
	}
	type got struct {
		o   convert.Outcome
		err error
	}
	ask := func(a *pipe.Asker, text string) <-chan got {
		done := make(chan got, 1)
		go func() {
			o, err := a.Ask(context.Background(), convert.Call{Questions: []convert.Question{{Text: text, Options: questions[0].Options}}})
			done <- got{o, err}
		}()
		return done
	}
	early := ask(dial("pi"), "Early?")
	s := c.open()
	r := <-c.requests
	require.Equal(t, s, r.Get("sessionId").Str)
	r.selects("SQLite")
	require.Equal(t, []convert.Answer{{Selected: []string{"SQLite"}}}, (<-early).o.Answers)

	require.Equal(t, ending{reason: "end_turn"}, <-c.prompt(s, "hi"))
	c.says("Nothing runs here")

	// The user dismisses one; an agent that goes takes its question along.
	dismissed := ask(dial("opal"), "Dismissed?")
	(<-c.requests).answer <- map[string]any{"outcome": map[string]any{"outcome": "cancelled"}}
	require.ErrorIs(t, (<-dismissed).err, convert.ErrCancelled)

	// The editor goes: every agent is told that it is gone.
	open := ask(dial("pi"), "Open?")
	<-c.requests
	leave()
	require.ErrorIs(t, (<-open).err, convert.ErrDisconnected)
}

// A person can pipe everything in, one line after the other.
func TestPipedIn(t *testing.T) {
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}
{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}
`)
	r, w := io.Pipe()
	go func() {
		_ = pipeagent.Serve(context.Background(), in, w, pipeagent.Options{Command: []string{"true"}})
		w.Close()
	}()
	out, err := io.ReadAll(r) // in any order
	require.NoError(t, err)
	require.Contains(t, string(out), `"acp-bridge-rpc"`)
	require.Contains(t, string(out), `"sessionId"`)
	require.Equal(t, 2, strings.Count(string(out), "\n"))
}
