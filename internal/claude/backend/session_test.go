package backend_test

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

// A session that is closed while it works ends its tool calls and its prompt,
// in this order, and says nothing after that.
func TestCloseMidTurn(t *testing.T) {
	t.Parallel()
	for range 10 {
		e, _ := scripted(t, turns(steps{ct.Message(ct.AskTool("toolu_1", "Bash", object{"command": "ls"}, "", nil)), ct.Burst(5000), ct.Hang()}))
		s := e.ready()
		turn := e.prompt(s, "go")
		e.next().selects("allow")
		e.await(s, "text", func(u gjson.Result) bool { return u.Get("content.text").Exists() })
		e.call(acp.AgentMethodSessionClose, `{"sessionId":"`+s+`"}`)
		turn.ends(acp.StopReasonCancelled)
		said := len(e.updates(s))
		_, err := e.try(acp.AgentMethodSessionSetMode, `{"sessionId":"`+s+`","modeId":"plan"}`) // behind all updates
		require.ErrorContains(t, err, "no session")
		require.Len(t, e.updates(s), said, "nothing comes after the response")
		e.leave()
	}
}

func TestCloseWhileAsking(t *testing.T) {
	e, _ := scripted(t, turns(steps{ct.Message(ct.Question("toolu_1", which))}))
	s := e.ready()
	turn := e.prompt(s, "go")
	r := e.asked("Which database?")
	e.call(acp.AgentMethodSessionClose, `{"sessionId":"`+s+`"}`)
	turn.ends(acp.StopReasonCancelled)
	<-r.withdrawn
	require.Equal(t, "failed", e.tool(s, "toolu_1")["status"])
}

// Sessions are closed at every moment of a turn: no panic, no hang, no race.
func TestCloseAtAnyMoment(t *testing.T) {
	t.Parallel()
	e, _ := scripted(t, ct.Script{})
	e.initialize(`{}`)
	dir := t.TempDir()
	for i := range 40 {
		s := e.open(dir)
		turn := e.prompt(s, "hi")
		time.Sleep(time.Duration(i) * 250 * time.Microsecond)
		e.call(acp.AgentMethodSessionClose, `{"sessionId":"`+s+`"}`)
		<-turn.done
	}
}

// A cancelled turn leaves no request of a sub-agent open either.
func TestCancelWithdrawsSubAgentsRequests(t *testing.T) {
	cli := ct.New(t, ct.Script{IgnoreInterrupt: true, Turns: []ct.Turn{{Steps: steps{ct.Message(
		ct.Agent("toolu_a", "work", ct.Message(ct.AskTool("toolu_b", "Bash", object{"command": "ls"}, "", nil))))}}}})
	e := serve(t, backend.Options{Claude: cli.Path, CancelGrace: time.Minute})
	s := e.ready()
	e.prompt(s, "go")
	r := e.asked("ls")
	e.cancel(s)
	select {
	case <-r.withdrawn:
	case <-time.After(patience):
		require.Fail(t, "the request stays open")
	}
	e.leave()
}

// An end by a signal does not wait for an editor that has stopped reading.
func TestShutDownWithAStalledEditor(t *testing.T) {
	t.Parallel()
	cli := ct.New(t, turns(steps{ct.Burst(50_000)}))
	ctx, cancel := contextWithCancel(t)
	agentIn, out := io.Pipe()
	in, agentOut := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- backend.Serve(ctx, agentIn, agentOut, backend.Options{Claude: cli.Path, Logger: slog.New(slog.DiscardHandler)})
	}()
	lines := newLineReader(in)
	write := func(format string, args ...any) {
		_, err := fmt.Fprintf(out, format+"\n", args...)
		require.NoError(t, err)
	}
	write(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)
	lines.until(t, `"id":1`)
	write(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, t.TempDir())
	s := gjson.Get(lines.until(t, `"id":2`), "result.sessionId").Str
	write(`{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"go"}]}}`, s)
	lines.until(t, "agent_message_chunk") // and nothing more is read
	cancel()
	select {
	case err := <-served:
		require.NoError(t, err)
	case <-time.After(patience):
		require.Fail(t, "the agent does not end")
	}
	out.Close()
	in.Close()
}

// A fault in the code that serves one session ends what it was about, with a
// clear error and a stack in the log; the others do not notice.
func TestPanicIsOfOneSession(t *testing.T) {
	for name, tc := range map[string]struct {
		broken func(*backend.Options)
		want   string
	}{
		"on a message of the CLI": {func(o *backend.Options) {
			o.Trace = func(wire string, dir ndjson.Direction, text []byte) {
				if wire != "editor" && dir == ndjson.In && strings.Contains(string(text), "cheese") {
					panic("boom")
				}
			}
		}, "it was ended after a fault in acp-bridge: boom"},
		"while it asks": {func(o *backend.Options) {
			var calls atomic.Int32
			o.Guard = true
			o.Now = func() time.Time {
				if calls.Add(1) == 1 {
					panic("boom")
				}
				return time.Now()
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var log syncBuffer
			cli := ct.New(t, ct.Script{Turns: []ct.Turn{
				{Match: "wait", Steps: steps{ct.Text("I wait."), ct.Wait("others"), ct.Text("Done.")}},
				{Match: "break", Steps: steps{ct.Message(ct.TextBlock("cheese"), ct.Question("toolu_1", which)), ct.Text("On.")}},
				{Match: "more", Steps: steps{ct.Text("More.")}},
			}})
			o := backend.Options{Claude: cli.Path, Logger: slog.New(slog.NewTextHandler(&log, nil))}
			tc.broken(&o)
			e := serve(t, o)
			e.initialize(`{}`)
			other, s := e.open(t.TempDir()), e.open(t.TempDir())
			waits := e.prompt(other, "wait")
			e.await(other, "the text", func(u gjson.Result) bool { return strings.Contains(u.Raw, "I wait.") })
			if turn := e.prompt(s, "break"); tc.want != "" {
				turn.fails(tc.want)
			} else {
				turn.ends(acp.StopReasonEndTurn)
				require.Contains(t, string(cli.Reply("toolu_1")), "a fault in acp-bridge")
			}
			require.Contains(t, log.String(), "session_test.go", "the stack")
			e.prompt(s, "more").ends(acp.StopReasonEndTurn)
			cli.Release("others")
			waits.ends(acp.StopReasonEndTurn)
			require.Equal(t, "I wait.Done.", e.said(other))
		})
	}
}

// What an editor reads to know what it can ask for.
func TestCapabilities(t *testing.T) {
	e := serve(t, backend.Options{})
	can := e.call(acp.AgentMethodInitialize, `{"protocolVersion":1}`).Get("agentCapabilities")
	for _, path := range []string{
		"auth.logout", "loadSession", "mcpCapabilities.http", "mcpCapabilities.sse", "promptCapabilities.image", "promptCapabilities.embeddedContext",
		"sessionCapabilities.additionalDirectories", "sessionCapabilities.close", "sessionCapabilities.delete",
		"sessionCapabilities.fork", "sessionCapabilities.list", "sessionCapabilities.resume",
	} {
		require.True(t, can.Get(path).IsObject() || can.Get(path).Bool(), path)
	}
}
