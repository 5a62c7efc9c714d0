package pipeagent_test

import (
	"bufio"
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
	_ "github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/conn"
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

// requests are what the agent asks. pi asks both questions in one request, Opal in two.
var requests = map[string][]string{
	"pi": {`{"type":"ask_user_request","requestId":"req-1","questions":[{"question":"Which database?","header":"Database","options":[{"label":"PostgreSQL"},{"label":"SQLite"}]},{"question":"What name?"}]}`},
	"opal": {
		`{"jsonrpc":"2.0","id":"req-1","method":"client/ask_user","params":{"session_id":"","question":"Which database?","choices":["PostgreSQL","SQLite"]}}`,
		`{"jsonrpc":"2.0","id":"req-2","method":"client/ask_user","params":{"session_id":"","question":"What name?","choices":[]}}`,
	},
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
	in := bufio.NewScanner(os.Stdin)
	for _, request := range requests[dialect] {
		fmt.Println(request)
		in.Scan()
		for _, answer := range answersOf(in.Text()) {
			fmt.Println("got " + answer)
		}
	}
	return 0
}

// answersOf are the answers of a response, of pi's or of Opal's.
func answersOf(response string) (answers []string) {
	for _, path := range []string{"answers.#.answer", "result.answer"} {
		for _, a := range gjson.Get(response, path).Array() {
			answers = append(answers, a.String())
		}
	}
	return answers
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
	ask := func(request string) (response func() string) {
		conn, err := net.Dial("unix", l.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { conn.Close() })
		_, err = io.WriteString(conn, request+"\n")
		require.NoError(t, err)
		return func() string {
			line, err := bufio.NewReader(conn).ReadString('\n')
			require.NoError(t, err)
			return line
		}
	}
	early := ask(`{"type":"ask_user_request","requestId":"1","questions":[{"question":"Early?","options":["PostgreSQL","SQLite"]}]}`)
	s := c.open()
	r := <-c.requests
	require.Equal(t, s, r.Get("sessionId").Str)
	r.selects("SQLite")
	require.Equal(t, "SQLite", gjson.Get(early(), "answers.0.selectedOption").Str)

	require.Equal(t, ending{reason: "end_turn"}, <-c.prompt(s, "hi"))
	c.says("Nothing runs here")

	// The user dismisses one; an agent that goes takes its question along.
	dismissed := ask(requests["opal"][0])
	(<-c.requests).answer <- map[string]any{"outcome": map[string]any{"outcome": "cancelled"}}
	require.EqualValues(t, -32800, gjson.Get(dismissed(), "error.code").Int())

	// The editor goes: every agent is told that it is gone.
	open := ask(requests["pi"][0])
	<-c.requests
	leave()
	require.True(t, gjson.Get(open(), "connectionLost").Bool())
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

// Of two questions side by side the first is dismissed. The second is another agent's, or
// at least in no turn that this could end: it is asked, and nobody is told that the user
// cancelled what they never saw.
func TestDismissedBesideAnother(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	require.NoError(t, err)
	c, leave := serve(t, pipeagent.Options{Listener: l, First: adapter.Permission})
	c.open()
	agent, err := net.Dial("unix", l.Addr().String())
	require.NoError(t, err)
	defer agent.Close()
	got := bufio.NewScanner(agent)
	for _, id := range []string{"r1", "r2"} {
		_, err = fmt.Fprintf(agent, `{"type":"ask_user_request","requestId":%q,"questions":[{"question":"%s?","options":["Yes","No"]}]}`+"\n", id, id)
		require.NoError(t, err)
	}
	first := <-c.requests
	require.Equal(t, "r1?", first.Get("toolCall.rawInput.question").Str)
	first.answer <- map[string]any{"outcome": map[string]any{"outcome": "cancelled"}}
	(<-c.requests).selects("Yes")
	replies := map[string]gjson.Result{}
	for len(replies) < 2 && got.Scan() {
		r := gjson.Parse(strings.Clone(got.Text()))
		replies[r.Get("requestId").Str] = r
	}
	require.True(t, replies["r1"].Get("cancelled").Bool(), replies)
	require.Equal(t, "Yes", replies["r2"].Get("answers.0.answer").Str, replies)
	leave()
}
