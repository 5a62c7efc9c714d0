package pipeagent_test

import (
	"bufio"
	"context"
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
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
	"github.com/acp-bridge/acp-bridge/internal/pipeagent"
	"github.com/acp-bridge/acp-bridge/internal/seen"
)

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

// client is an editor, and how much of what the agent says the test has heard.
type client struct {
	*acptest.Editor
	heard int
}

func serve(t *testing.T, o pipeagent.Options) *client {
	c := &client{Editor: acptest.NewEditor(t, func(ctx context.Context, in io.Reader, out io.Writer) error {
		return pipeagent.Serve(ctx, in, out, o)
	})}
	c.Initialize(`{}`)
	return c
}

// says waits until the agent has said one of several things, and returns which.
func (c *client) says(session string, wants ...string) int {
	c.T.Helper()
	for late := time.After(acptest.Patience); ; {
		_, more := c.Log()
		said := c.Said(session)
		if i := slices.IndexFunc(wants, func(w string) bool { return strings.Contains(said[c.heard:], w) }); i >= 0 {
			c.heard = len(said)
			return i
		}
		select {
		case <-more:
		case <-late:
			require.Fail(c.T, "not said", "%q in %q", wants, said)
		}
	}
}

func command(t *testing.T, dialect string) []string {
	self := acptest.Must(os.Executable())
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
			c := serve(t, pipeagent.Options{Command: command(t, dialect)})
			s := c.Open(t.TempDir())
			for early := false; !early; {
				turn := c.Prompt(s, "a name")
				c.says(s, "working on a name\n")
				r := c.Next()
				require.Equal(t, "session/request_permission", r.Method)
				require.Equal(t, "Which database?"+place[0], r.Get("toolCall.content.0.content.text").Str)
				if dialect == "opal" {
					require.Equal(t, "Which database?", r.Get("toolCall.title").Str)
				}
				r.Selects("SQLite")
				r = c.Next()
				require.Equal(t, "What name?"+place[1], r.Get("toolCall.content.0.content.text").Str)
				began := time.Now()
				r.Selects("__other__") // without a text: it is asked for in the conversation
				c.says(s, "What name?")
				turn.Ends(acp.StopReasonEndTurn)
				// Sent at once it was typed before the question can have been read.
				turn = c.Prompt(s, "typed ahead")
				if early = c.says(s, "before you can have read this question", "got typed ahead\n") == 0; !early {
					require.GreaterOrEqual(t, time.Since(began), seen.Person)
				}
				turn.Ends(acp.StopReasonEndTurn)
			}
			for again := true; again; {
				time.Sleep(seen.Strict) // nothing is known of this editor but how long its user has had the question
				turn := c.Prompt(s, "orders")
				again = c.says(s, "before you can have read this question", "got orders\n") == 0
				turn.Ends(acp.StopReasonEndTurn)
			}
		})
	}
}

// A cancelled turn ends the command, also one that asks nothing, and a command
// that fails says so.
func TestCommandEnds(t *testing.T) {
	c := serve(t, pipeagent.Options{Command: command(t, "pi")})
	s := c.Open(t.TempDir())
	for _, text := range []string{"hang", "ask"} {
		turn := c.Prompt(s, text)
		c.says(s, "working")
		if text == "ask" {
			c.Next()
		}
		c.Cancel(s)
		turn.Ends(acp.StopReasonCancelled)
	}
	c.Prompt(s, "fail").Fails("exit status 3: out of luck")
}

// Agents elsewhere are asked for in the session that was opened last; what they
// ask before there is one waits.
func TestSocket(t *testing.T) {
	l := acptest.Must(net.Listen("unix", filepath.Join(t.TempDir(), "s")))
	c := serve(t, pipeagent.Options{Listener: l, First: adapter.Permission})
	ask := func(request string) (response func() string) {
		conn := acptest.Must(net.Dial("unix", l.Addr().String()))
		t.Cleanup(func() { conn.Close() })
		acptest.Must(io.WriteString(conn, request+"\n"))
		return func() string {
			return acptest.Must(bufio.NewReader(conn).ReadString('\n'))
		}
	}
	early := ask(`{"type":"ask_user_request","requestId":"1","questions":[{"question":"Early?","options":["PostgreSQL","SQLite"]}]}`)
	s := c.Open(t.TempDir())
	r := c.Next()
	require.Equal(t, s, r.Get("sessionId").Str)
	r.Selects("SQLite")
	require.Equal(t, "SQLite", gjson.Get(early(), "answers.0.selectedOption").Str)

	c.Prompt(s, "hi").Ends(acp.StopReasonEndTurn)
	c.says(s, "Nothing runs here")

	// The user dismisses one; an agent that goes takes its question along.
	dismissed := ask(requests["opal"][0])
	c.Next().Cancels()
	require.EqualValues(t, -32800, gjson.Get(dismissed(), "error.code").Int())

	// The editor goes: every agent is told that it is gone.
	open := ask(requests["pi"][0])
	c.Next()
	c.Leave()
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
	out := acptest.Must(io.ReadAll(r)) // in any order
	require.Contains(t, string(out), `"acp-bridge-rpc"`)
	require.Contains(t, string(out), `"sessionId"`)
	require.Equal(t, 2, strings.Count(string(out), "\n"))
}

// Of two questions side by side the first is dismissed. The second is another agent's, or
// at least in no turn that this could end: it is asked, and nobody is told that the user
// cancelled what they never saw.
func TestDismissedBesideAnother(t *testing.T) {
	l := acptest.Must(net.Listen("unix", filepath.Join(t.TempDir(), "s")))
	c := serve(t, pipeagent.Options{Listener: l, First: adapter.Permission})
	c.Open(t.TempDir())
	agent := acptest.Must(net.Dial("unix", l.Addr().String()))
	defer agent.Close()
	got := bufio.NewScanner(agent)
	for _, id := range []string{"r1", "r2"} {
		acptest.Must(fmt.Fprintf(agent, `{"type":"ask_user_request","requestId":%q,"questions":[{"question":"%s?","options":["Yes","No"]}]}`+"\n", id, id))
	}
	first := c.Next()
	require.Equal(t, "r1?", first.Get("toolCall.rawInput.question").Str)
	first.Cancels()
	c.Next().Selects("Yes")
	replies := map[string]gjson.Result{}
	for len(replies) < 2 && got.Scan() {
		r := gjson.Parse(strings.Clone(got.Text()))
		replies[r.Get("requestId").Str] = r
	}
	require.True(t, replies["r1"].Get("cancelled").Bool(), replies)
	require.Equal(t, "Yes", replies["r2"].Get("answers.0.answer").Str, replies)
	c.Leave()
}
