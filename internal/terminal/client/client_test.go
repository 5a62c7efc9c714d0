package client_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"go.uber.org/goleak"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
	"github.com/acp-bridge/acp-bridge/internal/scripted"
	"github.com/acp-bridge/acp-bridge/internal/seen"
	"github.com/acp-bridge/acp-bridge/internal/terminal/client"
)

func TestMain(m *testing.M) {
	ct.Main()
	leaktest.Parallel(48)
	leaktest.Main(m, goleak.IgnoreAnyFunction("os/signal.loop"))
}

const patience = 5 * time.Minute

// chat is a client in lines, joined to an agent by a real connection.
type chat struct {
	t    *testing.T
	in   *io.PipeWriter
	done chan error

	mu      sync.Mutex
	out     bytes.Buffer
	changed chan struct{}
}

func (c *chat) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.changed)
	c.changed = make(chan struct{})
	return c.out.Write(b)
}

// talk starts an agent and a client whose lines are a script with answers.
func talk(t *testing.T, serve func(context.Context, io.Reader, io.Writer) error, o client.Options) *chat {
	o.Answers = true
	return pipe(t, serve, o)
}

// pipe starts an agent and a client.
func pipe(t *testing.T, serve func(context.Context, io.Reader, io.Writer) error, o client.Options) *chat {
	agentIn, toAgent := io.Pipe()
	fromAgent, agentOut := io.Pipe()
	in, typed := io.Pipe()
	c := &chat{t: t, in: typed, done: make(chan error, 1), changed: make(chan struct{})}
	o.In, o.Out, o.Environ = in, c, func(string) string { return "" }
	served := make(chan error, 1)
	go func() {
		served <- serve(context.Background(), agentIn, agentOut)
		agentOut.Close()
	}()
	go func() { c.done <- client.Run(context.Background(), fromAgent, toAgent, o) }()
	t.Cleanup(func() {
		typed.Close()
		toAgent.Close()
		<-served
		fromAgent.Close()
	})
	return c
}

func claudeAgent(t *testing.T, script ct.Script, first ...adapter.Rung) (func(context.Context, io.Reader, io.Writer) error, *ct.CLI) {
	cli := ct.New(t, script)
	o := backend.Options{Claude: cli.Path, TrustPrompts: true}
	if len(first) > 0 {
		o.First = first[0]
	}
	return func(ctx context.Context, r io.Reader, w io.Writer) error { return backend.Serve(ctx, r, w, o) }, cli
}

func demoAgent(ctx context.Context, r io.Reader, w io.Writer) error {
	return scripted.ServeDemo(ctx, r, w, scripted.DemoOptions{Version: "test"})
}

func (c *chat) types(lines ...string) {
	for _, l := range lines {
		acptest.Must(io.WriteString(c.in, l+"\n"))
	}
}

// sees waits until the text was written.
func (c *chat) sees(text string) {
	c.t.Helper()
	deadline := time.After(patience)
	for {
		c.mu.Lock()
		out, changed := c.out.String(), c.changed
		c.mu.Unlock()
		if strings.Contains(out, text) {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			require.Fail(c.t, "not seen", "%q in\n%s", text, out)
		}
	}
}

// ends waits for the client to leave and returns all that it wrote.
func (c *chat) ends() (string, error) {
	c.t.Helper()
	err := acptest.Next(c.t, c.done)
	require.NotContains(c.t, c.out.String(), "\x1b", "lines hold no escapes")
	return c.out.String(), err
}

var (
	which = ct.Q("Which database?", "Database", false, "PostgreSQL", "SQLite")
	many  = ct.Q("Which features?", "Features", true, "Auth", "Cache", "Logs")
)

func turns(list ...[]ct.Step) (s ct.Script) {
	for _, steps := range list {
		s.Turns = append(s.Turns, ct.Turn{Steps: steps})
	}
	return s
}

type steps = []ct.Step

// Lines that were there before a question are prompts, and stay so: none answers it. A
// line that comes when the question can have been read does.
func TestPipedLinesArePrompts(t *testing.T) {
	t.Parallel()
	serve, cli := claudeAgent(t, turns(steps{ct.Message(ct.Question("toolu_1", which)), ct.Text("Noted.")}, steps{ct.Text("Bye.")}))
	c := pipe(t, serve, client.Options{Plain: true})
	c.types("hi", "1", "/quit")
	c.sees("SQLite")
	time.Sleep(3 * seen.Hands)
	c.types("2")
	out := acptest.Must(c.ends())
	require.JSONEq(t, `{"Which database?":"SQLite"}`, gjson.GetBytes(cli.AwaitReply("toolu_1"), "updatedInput.answers").Raw)
	require.Contains(t, out, "Noted.\n\n> 1\n\nBye.\n", "the prompt was not lost")

	serve, _ = claudeAgent(t, turns(steps{ct.Message(ct.Question("toolu_1", which))}))
	c = pipe(t, serve, client.Options{Plain: true})
	c.types("hi", "1")
	require.NoError(t, c.in.Close())
	require.ErrorContains(t, acptest.Err(c.ends()), "the lines that were there before it are prompts; --answers - makes them answers")
}

// The whole bridge: Claude Code's stand-in, the agent, the connection, the
// client.
func TestChatWithTheBridge(t *testing.T) {
	serve, cli := claudeAgent(t, turns(
		steps{ct.Message(ct.TextBlock("Let me \x1b[31mask.\n"), ct.Question("toolu_1", which, many)), ct.Text("Noted.")},
		steps{ct.Text("Bye.")}))
	c := talk(t, serve, client.Options{Plain: true})
	c.types("hi", "sqlite", "1, other Metrics")
	c.sees("Noted.")
	c.types("", "and now?")
	c.sees("Bye.")
	c.types("/quit")
	out := acptest.Must(c.ends())
	require.JSONEq(t, `{"Which database?":"SQLite","Which features?":"Auth, Metrics"}`,
		gjson.GetBytes(cli.AwaitReply("toolu_1"), "updatedInput.answers").Raw)
	require.Contains(t, out, "> hi\n\nLet me ask.\n")
	require.Contains(t, out, "✓ Database → SQLite; Features → Auth, Metrics\n  Which database? → SQLite\n  Which features? → Auth, Metrics\n\nNoted.\n\n> and now?\n\nBye.\n")
}

// However the agent asks, the answer is the same.
func TestEveryRung(t *testing.T) {
	for first, lines := range map[adapter.Rung][]string{
		adapter.Form:         {"sqlite", "1,3"},
		adapter.Permission:   {"2", "auth, logs"},
		adapter.Conversation: {"2", "1,3"},
	} {
		t.Run(first.String(), func(t *testing.T) {
			serve, cli := claudeAgent(t, turns(steps{ct.Message(ct.Question("toolu_1", which, many)), ct.Text("Noted.")}), first)
			c := talk(t, serve, client.Options{Plain: true})
			c.types(append([]string{"hi"}, lines...)...)
			require.JSONEq(t, `{"Which database?":"SQLite","Which features?":"Auth, Logs"}`,
				gjson.GetBytes(cli.AwaitReply("toolu_1"), "updatedInput.answers").Raw)
			c.sees("Noted.")
			c.types("/quit")
			acptest.Must(c.ends())
		})
	}
}

func TestPermissionRequest(t *testing.T) {
	for answer, want := range map[string]string{"1": "allow", "2": "deny"} {
		serve, cli := claudeAgent(t, turns(steps{ct.Message(ct.Block{Type: "tool_use", ID: "toolu_1", Name: "Bash",
			Input: []byte(`{"command":"make test"}`), Ask: &ct.Ask{}, Output: "ok"})}))
		c := talk(t, serve, client.Options{Plain: true})
		c.types("hi")
		c.sees("Type cancel to cancel.")
		c.types(answer)
		require.Equal(t, want, gjson.GetBytes(cli.AwaitReply("toolu_1"), "behavior").Str, answer)
		c.in.Close()
		require.Contains(t, acptest.Must(c.ends()), "Permission\nmake test\n1. ")
	}
}

// In lines, too, all of what is approved is there.
func TestPermissionRequestShowsAll(t *testing.T) {
	command := "set -e\n" + strings.Repeat("echo step\n", 30) + "rm -rf ~/"
	serve, cli := claudeAgent(t, turns(steps{ct.Message(ct.Block{Type: "tool_use", ID: "toolu_1", Name: "Bash",
		Input: acptest.Must(json.Marshal(map[string]any{"command": command})), Ask: &ct.Ask{}, Output: "ok"})}))
	c := talk(t, serve, client.Options{Plain: true})
	c.types("hi")
	c.sees("Type cancel to cancel.")
	c.types("2")
	require.Equal(t, "deny", gjson.GetBytes(cli.AwaitReply("toolu_1"), "behavior").Str)
	c.in.Close()
	require.Contains(t, acptest.Must(c.ends()), "\n$ "+strings.ReplaceAll(command, "\n", "\n$ ")+"\n1. ")
}

// The agent takes its question back; the next one is asked as usual.
func TestWithdrawn(t *testing.T) {
	c := talk(t, demoAgent, client.Options{Plain: true})
	c.types("go")
	c.sees("question 1 of 3")
	c.types("cancel")
	c.sees("Cancelled.")
	c.types("again")
	c.sees("> again")
	c.types("1", "auth", "shop")
	c.sees("- Service name: shop")
	c.in.Close()
	acptest.Must(c.ends())
}

// The end of the input is no answer.
func TestInputEndsInAQuestion(t *testing.T) {
	t.Parallel()
	c := talk(t, demoAgent, client.Options{Plain: true})
	c.types("go", "1")
	c.sees("question 2 of 3")
	c.in.Close()
	out, err := c.ends()
	require.EqualError(t, err, "the input ended before the question was answered")
	require.NotContains(t, out, "ancelled", "it is no choice of the user's")
}

// What a form asks for as a secret is in no line, whatever becomes of it.
func TestLinesHoldNoSecret(t *testing.T) {
	t.Parallel()
	const more = `,"n":{"type":"string"}`
	for name, c := range map[string]struct {
		message, fields string
		said            []string
	}{
		"read back":      {"Log in", `"k":{"type":"string","writeOnly":true}` + more, []string{"4711", "back", "4711", "x"}},
		"by the message": {"Enter your password", `"value":{"type":"string"}` + more, []string{"4711", "back", "4711", "x"}},
		"too short":      {"Log in", `"k":{"type":"string","writeOnly":true,"minLength":5}`, []string{"4711", "47114711"}},
		"no number":      {"Log in", `"pin":{"type":"integer"}`, []string{"4711x", "4711"}},
		"a default":      {"Log in", `"k":{"type":"string","format":"password","default":"4711"}`, []string{"4711"}},
		"the default":    {"Log in", `"k":{"type":"string","format":"password","default":"4711"}`, []string{"(not shown)"}},
		"beside its options": {"Log in", `"k":{"type":"string","title":"Which?","oneOf":[{"const":"old","title":"old"},{"const":"new","title":"new"}],"_meta":{"codex":{"isOther":true,"isSecret":true}}},` +
			`"k_note":{"type":"string","_meta":{"codex":{"questionId":"k","role":"user_note"}}}`, []string{"4711", "4711"}},
	} {
		t.Run(name, func(t *testing.T) {
			chat := talk(t, written(map[string]string{
				"initialize": `"result":{"protocolVersion":1}`, "session/new": `"result":{"sessionId":"s"}`, "": `"result":{"stopReason":"end_turn"}`,
				"session/prompt": `"method":"elicitation/create","params":{"mode":"form","message":"` + c.message + `","requestedSchema":{"type":"object","properties":{` + c.fields + `}}}`,
			}), client.Options{Plain: true})
			chat.types(append(append([]string{"go"}, c.said...), "/quit")...)
			out, err := chat.ends()
			require.NoError(t, err, out)
			require.NotContains(t, out, "4711")
		})
	}
}

func TestAnswersGiven(t *testing.T) {
	answers := []convert.Answer{{Selected: []string{"SQLite"}}, {Selected: []string{"Auth", "Cache"}}, {Text: "shop"}}
	c := talk(t, demoAgent, client.Options{Prompt: "go", Once: true, Wire: true,
		Resolver: adapter.Static{Answers: answers}})
	out := acptest.Must(c.ends())
	require.Contains(t, out, "- Database: SQLite\n- Features: Auth, Cache\n- Service name: shop\n")
	require.Contains(t, out, "\n← #1 elicitation/create {")
	require.Contains(t, out, "\n→ #1 elicitation/create result {")
	for l := range strings.Lines(out) {
		require.LessOrEqual(t, client.Columns(strings.TrimSpace(l)), 160)
	}
}

func TestOnceCancelled(t *testing.T) {
	c := talk(t, demoAgent, client.Options{Prompt: "go", Once: true, Resolver: adapter.Static{Err: convert.ErrCancelled}})
	require.ErrorIs(t, acptest.Err(c.ends()), client.ErrCancelled)
}

// The agent dies while its question is open.
func TestConnectionEnds(t *testing.T) {
	ctx, kill := context.WithCancel(context.Background())
	c := talk(t, func(_ context.Context, r io.Reader, w io.Writer) error {
		return scripted.ServeDemo(ctx, r, w, scripted.DemoOptions{Version: "test"})
	}, client.Options{Plain: true})
	c.types("go")
	c.sees("question 1 of 3")
	kill()
	out, err := c.ends()
	require.EqualError(t, err, "the agent ended the connection")
	require.Contains(t, out, "The agent withdrew its question: Which database should we use?")
}

func TestLoginNeeded(t *testing.T) {
	require.EqualError(t, acptest.Err(talk(t, written(map[string]string{
		"initialize":  `"result":{"protocolVersion":1,"authMethods":[{"id":"a","name":"Claude login","description":"Run \u001b[1mclaude /login"}]}`,
		"session/new": `"error":{"code":-32000,"message":"Authentication required","data":{"details":"not logged in"}}`,
	}), client.Options{Plain: true}).ends()), "the agent needs a login: Authentication required: not logged in\nIt offers:\n  Claude login (Run claude /login)")
}

func TestOtherVersion(t *testing.T) {
	_, err := talk(t, written(map[string]string{"initialize": `"result":{"protocolVersion":2}`}), client.Options{Plain: true}).ends()
	require.EqualError(t, err, "the agent speaks version 2 of ACP, this client version 1")
}

// written is an agent that has what it says to each method written down, and under no name
// what it says to a reply.
func written(says map[string]string) func(context.Context, io.Reader, io.Writer) error {
	return func(_ context.Context, r io.Reader, w io.Writer) error {
		in := bufio.NewScanner(r)
		for in.Scan() {
			m := gjson.ParseBytes(in.Bytes())
			if a := says[m.Get("method").Str]; a != "" {
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+m.Get("id").Raw+`,`+a+"}\n")
			}
		}
		return nil
	}
}
