package backend_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

// A session that is closed while it works ends its tool calls and its prompt,
// in this order, and says nothing after that.
func TestCloseMidTurn(t *testing.T) {
	t.Parallel()
	for range 10 {
		e, _ := scripted(t, turns(steps{ct.Message(ct.AskTool("toolu_1", "Bash", object{"command": "ls"}, "", nil)), ct.Burst(5000), ct.Hang()}))
		s := e.Ready()
		turn := e.Prompt(s, "go")
		e.Next().Selects("allow")
		e.Await(s, "text", func(u gjson.Result) bool { return u.Get("content.text").Exists() })
		e.Call(acp.AgentMethodSessionClose, `{"sessionId":"`+s+`"}`)
		turn.Ends(acp.StopReasonCancelled)
		said := len(e.Updates(s))
		require.ErrorContains(t, acptest.Err(e.Try(acp.AgentMethodSessionSetMode, `{"sessionId":"`+s+`","modeId":"plan"}`)), "no session") // behind all updates
		require.Len(t, e.Updates(s), said, "nothing comes after the response")
		e.Leave()
	}
}

// Sessions are closed at every moment of a turn: no panic, no hang, no race.
func TestCloseAtAnyMoment(t *testing.T) {
	t.Parallel()
	e, _ := scripted(t, ct.Script{})
	e.Initialize(`{}`)
	dir := t.TempDir()
	for i := range 40 {
		s := e.Open(dir)
		turn := e.Prompt(s, "hi")
		time.Sleep(time.Duration(i) * 250 * time.Microsecond)
		e.Call(acp.AgentMethodSessionClose, `{"sessionId":"`+s+`"}`)
		<-turn.Done
	}
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
	write := func(format string, args ...any) { acptest.Must(fmt.Fprintf(out, format+"\n", args...)) }
	write(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)
	lines.until(t, `"id":1`)
	write(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, t.TempDir())
	s := gjson.Get(lines.until(t, `"id":2`), "result.sessionId").Str
	write(`{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"go"}]}}`, s)
	lines.until(t, "agent_message_chunk") // and nothing more is read
	cancel()
	require.NoError(t, <-served)
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
			var log acptest.Written
			cli := ct.New(t, ct.Script{Turns: []ct.Turn{
				{Match: "wait", Steps: steps{ct.Text("I wait."), ct.Wait("others"), ct.Text("Done.")}},
				{Match: "break", Steps: steps{ct.Message(ct.TextBlock("cheese"), ct.Question("toolu_1", which)), ct.Text("On.")}},
				{Match: "more", Steps: steps{ct.Text("More.")}},
			}})
			o := backend.Options{Claude: cli.Path, Logger: slog.New(slog.NewTextHandler(&log, nil))}
			tc.broken(&o)
			e := serve(t, o)
			e.Initialize(`{}`)
			other, s := e.Open(t.TempDir()), e.Open(t.TempDir())
			waits := e.Prompt(other, "wait")
			e.Await(other, "the text", func(u gjson.Result) bool { return strings.Contains(u.Raw, "I wait.") })
			if turn := e.Prompt(s, "break"); tc.want != "" {
				turn.Fails(tc.want)
			} else {
				turn.Ends(acp.StopReasonEndTurn)
				require.Contains(t, string(cli.Reply("toolu_1")), "a fault in acp-bridge")
			}
			require.Contains(t, log.String(), "session_test.go", "the stack")
			e.Prompt(s, "more").Ends(acp.StopReasonEndTurn)
			cli.Release("others")
			waits.Ends(acp.StopReasonEndTurn)
			require.Equal(t, "I wait.Done.", e.Said(other))
		})
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
		line := acptest.Must(l.r.ReadString('\n'))
		if strings.Contains(line, text) {
			return line
		}
	}
}

// A session that the CLI keeps under another id is opened as that one, with what was left
// open there. Only its user can read where it went.
func TestSessionGoesOnUnderAnotherID(t *testing.T) {
	const other = "11111111-89ab-4def-8123-456789abcdef"
	s := save(t, turns(steps{ct.Raw(`{"type":"system","subtype":"init","session_id":"` + other + `"}`), ct.Text("Cleared."), ct.Wait("never")}), promptLine)
	e, _ := s.reopen(s.options(), acp.AgentMethodSessionLoad, `{}`)
	e.Prompt(reopened, "/clear")
	e.saying(reopened, "Cleared.")
	e.Leave()
	path := filepath.Join(transcript.Dir(filepath.Join(s.home, ".claude"), s.dir), other+".jsonl")
	for _, said := range []string{"", `{"type":"mode","mode":"normal"}`, promptLine + "\n" + askLine} {
		require.NoError(t, os.WriteFile(path, []byte(said+"\n"), 0o600))
		e = serve(t, s.options())
		e.Initialize(`{}`)
		require.Equal(t, `["`+reopened+`"]`, e.Call(acp.AgentMethodSessionList, `{}`).Get("sessions.#.sessionId").Raw, "it is listed once: %s", said)
		e.Leave()
	}
	notes := acptest.Must(os.ReadDir(filepath.Join(s.home, "acp-bridge", "reask")))
	require.Len(t, notes, 2)
	for _, n := range notes {
		info := acptest.Must(n.Info())
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		require.NotContains(t, n.Name(), other)
	}

	e, reply := s.reopen(s.options(), acp.AgentMethodSessionLoad, `{}`)
	require.Contains(t, reply.Get("_meta.acp-bridge.waitingFor").Str, "toolu_1-")
	e.Asked("Which database?").Cancels()
	require.Equal(t, "cancelled", e.waits())
	require.True(t, slices.ContainsFunc(s.cli.Starts(), func(s ct.Start) bool { return strings.Contains(strings.Join(s.Args, " "), "--resume "+other) }))
	e.Leave()
	_, reply = s.reopen(s.options(), acp.AgentMethodSessionLoad, `{}`)
	require.False(t, reply.Get("_meta.acp-bridge").Exists(), "it was dismissed")
}

// Messages of a transcript have the same names each time, and a compaction is told to a
// client that shows it.
func TestNamesOfATranscript(t *testing.T) {
	const replied = `{"parentUuid":"u1","type":"assistant","message":{"id":"msg_1","model":"m","content":[{"type":"text","text":"Hello"}]},"uuid":"a1"}`
	const failed = `{"parentUuid":"b1","type":"assistant","isApiErrorMessage":true,"error":"unknown","message":{"id":"f1","model":"<synthetic>","content":[{"type":"text","text":"API Error"}]},"uuid":"a2"}`
	const boundary = `{"parentUuid":null,"logicalParentUuid":"a1","type":"system","subtype":"compact_boundary","uuid":"b1","compactMetadata":{"trigger":"manual","preTokens":17}}`
	said := []string{"user_message_chunk u1", "agent_message_chunk msg_1"}
	for caps, want := range map[string][]string{
		`{}`:                            append(said[:2:2], "agent_message_chunk f1"),
		`{"session":{"notices":{}}}`:    append(said[:2:2], "agent_message_chunk f1"),
		`{"session":{"compaction":{}}}`: append(said[:2:2], "compaction_update b1 completed", "agent_message_chunk f1"),
	} {
		t.Run(caps, func(t *testing.T) {
			t.Parallel()
			for range 2 {
				s := save(t, ct.Script{}, promptLine, replied, boundary, failed)
				e, _ := s.reopen(s.options(), acp.AgentMethodSessionLoad, caps)
				var got []string
				for _, u := range e.Updates(reopened) {
					switch kind := u.Get("sessionUpdate").Str; {
					case strings.HasSuffix(kind, "_chunk"):
						got = append(got, kind+" "+u.Get("messageId").Str)
					case kind == "compaction_update":
						got = append(got, kind+" "+u.Get("compactionId").Str+" "+u.Get("status").Str)
					}
				}
				require.Equal(t, want, got)
			}
		})
	}
}
