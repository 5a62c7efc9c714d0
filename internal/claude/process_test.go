//go:build unix

package claude_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

func TestCommandLine(t *testing.T) {
	s := run(t, claudetest.Script{}, func(o *claude.Options) {
		o.SessionID, o.Mode, o.Model = "id-1", "plan", "haiku"
		o.Flags, o.Args = []string{"--mcp-config", "{}"}, []string{"--model", "mine"}
	})
	require.NoError(t, acptest.Err(s.Initialize(s.ctx)))
	start := s.cli.Starts()[0]
	require.Equal(t, []string{
		"--output-format", "stream-json", "--verbose", "--input-format", "stream-json",
		"--permission-prompt-tool", "stdio", "--include-partial-messages",
		"--session-id", "id-1", "--permission-mode", "plan", "--model", "haiku", "--mcp-config", "{}", "--model", "mine",
	}, start.Args)
	pgid := acptest.Must(syscall.Getpgid(start.Pid))
	require.Equal(t, s.Pid(), pgid, "a group of its own")
}

func TestInitialize(t *testing.T) {
	s := run(t, claudetest.Script{})
	info := acptest.Must(s.Initialize(s.ctx))
	require.Equal(t, "default", info.Mode)
	require.Equal(t, claude.Command{Name: "code-review", Description: "Review the current diff", ArgumentHint: "[<target>]"}, info.Commands[0])
	require.Equal(t, "Default (recommended)", info.Models[0].DisplayName)
}

func TestTurnInOrder(t *testing.T) {
	s := prompted(t, turns(claudetest.Message(claudetest.ThinkingBlock("hm"), claudetest.TextBlock("Hello ", "world")), claudetest.Burst(3)))
	var got []string
	for _, m := range s.until(claude.TypeResult) {
		got = append(got, strings.TrimSuffix(m.Type+"/"+m.Subtype, "/"))
	}
	message := func(blocks ...int) []string {
		out := []string{"system/status", "stream_event/message_start"}
		for _, n := range blocks {
			out = append(out, "stream_event/content_block_start")
			for range n {
				out = append(out, "stream_event/content_block_delta")
			}
			out = append(out, "assistant", "stream_event/content_block_stop")
		}
		return append(out, "stream_event/message_delta", "stream_event/message_stop")
	}
	want := append([]string{"system/init"}, message(1, 2)...)
	want = append(append(want, message(3)...), "result/success")
	require.Equal(t, want, got)
	require.Equal(t, []string{"hi"}, s.cli.Prompts())
}

func TestBurstIsCompleteAndInOrder(t *testing.T) {
	t.Parallel()
	const n = 20000
	words := strings.Fields(deltas(prompted(t, turns(claudetest.Burst(n))).until(claude.TypeResult)))
	require.Len(t, words, n)
	for i, w := range words {
		require.Equal(t, strconv.Itoa(i), w)
	}
}

func TestLineOverTheLimitIsSkipped(t *testing.T) {
	s := prompted(t, turns(claudetest.BigLine(1<<20), claudetest.Text("after")), func(o *claude.Options) { o.MaxLine = 64 << 10 })
	all := s.until(claude.TypeResult)
	require.Equal(t, "after", deltas(all))
	for _, m := range all {
		require.NotEqual(t, "claudetest_big", m.Type)
	}
}

func TestGarbageIsSkippedAndUnknownTypesArePassedOn(t *testing.T) {
	s := prompted(t, turns(claudetest.Raw("garbage", "", "[1]", `{"no":"type"}`, `{"type":7}`, `{"type":"brand_new","x":1}`, `{"type":"control_response","response":{"request_id":"nobody"}}`), claudetest.Text("ok")))
	all := s.until(claude.TypeResult)
	require.Equal(t, "ok", deltas(all))
	require.Equal(t, "brand_new", all[1].Type, "right after system/init")
}

func TestBackpressureReachesTheCLI(t *testing.T) {
	t.Parallel()
	// Far more than the pipe and the test hold: the stand-in cannot be done
	// before the messages are read.
	s := prompted(t, turns(claudetest.Burst(50000), claudetest.Control("hook_callback")))
	require.NoError(t, acptest.Err(s.Next(s.ctx)))
	time.Sleep(300 * time.Millisecond) // what must not happen needs time to happen
	for _, l := range s.cli.Lines() {
		require.NotContains(t, string(l.Raw), "control_response", "the stand-in got to the end of its burst unread")
	}
	s.until(claude.TypeResult)
}

func TestOnMessage(t *testing.T) {
	messages := make(chan claude.Message)
	s := initialized(t, turns(claudetest.Burst(3000)), func(o *claude.Options) { o.OnMessage = func(m claude.Message) { messages <- m } })
	require.NoError(t, s.Prompt("hi"))
	var all []claude.Message
	for m := range messages {
		all = append(all, m)
		if m.Type == claude.TypeResult {
			break
		}
	}
	require.Len(t, strings.Fields(deltas(all)), 3000)
	s.Kill()
	require.ErrorIs(t, acptest.Err(s.Next(s.ctx)), claude.ErrExited)
}

// A panic in a callback ends the CLI that it was called for, and nothing else.
func TestCallbackPanics(t *testing.T) {
	for name, broken := range map[string]func(*claude.Options){
		"OnMessage": func(o *claude.Options) { o.OnMessage = func(claude.Message) { panic("boom") } },
		"Trace, in": func(o *claude.Options) {
			o.Trace = func(dir ndjson.Direction, text []byte) {
				if dir == ndjson.In && strings.Contains(string(text), "hello") {
					panic("boom")
				}
			}
		},
		"Trace, out": func(o *claude.Options) {
			o.Trace = func(dir ndjson.Direction, text []byte) {
				if dir == ndjson.Out && strings.Contains(string(text), "hi") {
					panic("boom")
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			s := run(t, turns(claudetest.Text("hello"), claudetest.Hang()), func(o *claude.Options) {
				o.Logger = slog.New(slog.NewTextHandler(&log, nil))
				broken(o)
			})
			_, err := s.Initialize(s.ctx)
			require.NoError(t, err)
			require.NoError(t, s.Prompt("hi"))
			for err == nil {
				_, err = s.Next(s.ctx)
			}
			require.ErrorIs(t, err, claude.ErrPanic)
			require.ErrorIs(t, err, claude.ErrExited)
			require.ErrorContains(t, err, "boom")
			require.NoError(t, s.Close(s.ctx))
			require.Contains(t, log.String(), "process_test.go", "the stack")
		})
	}
}

func TestQuestion(t *testing.T) {
	s := run(t, turns(
		claudetest.Message(claudetest.Question("toolu_1", claudetest.Q("Which?", "Pick", false, "A", "B"))),
		claudetest.Text("Thanks."),
	))
	require.NoError(t, s.Prompt("hi"))
	req := s.last(claude.TypeControlRequest).ToolRequest()
	require.Equal(t, "AskUserQuestion", req.ToolName)
	require.Equal(t, "toolu_1", req.ToolUseID)
	require.NoError(t, s.Reply(req.RequestID, claude.Allow(json.RawMessage(`{"questions":[{"question":"Which?"}],`+"\n"+`"answers":{"Which?":"A\u2028<b>"}}`))))
	require.Contains(t, field(s.last(claude.TypeUser), "message.content.0.content").String(), "Which?")
	s.until(claude.TypeResult)
	require.JSONEq(t, `{"behavior":"allow","updatedInput":{"questions":[{"question":"Which?"}],"answers":{"Which?":"A\u2028<b>"}}}`, string(s.cli.Reply("toolu_1")))
}

// As TestRealTwoQuestions has it of the real CLI.
func TestTwoQuestions(t *testing.T) {
	script := turns(claudetest.Message(
		claudetest.Question("toolu_1", claudetest.Q("One?", "1", false, "A", "B")),
		claudetest.Question("toolu_2", claudetest.Q("Two?", "2", false, "A", "B")),
	))
	for name, interrupt := range map[string]bool{"answered in the other order": false, "one dismissed with interrupt": true} {
		t.Run(name, func(t *testing.T) {
			s := prompted(t, script)
			first := s.last(claude.TypeControlRequest).ToolRequest()
			second := s.last(claude.TypeControlRequest).ToolRequest()
			require.NoError(t, s.Reply(second.RequestID, claude.Deny("no", interrupt)))
			before := s.until(claude.TypeUser)
			var cancelled []string
			for _, m := range before {
				if m.Type == claude.TypeControlCancel {
					cancelled = append(cancelled, m.RequestID())
				}
			}
			if interrupt {
				require.Equal(t, []string{first.RequestID}, cancelled)
			} else {
				require.NoError(t, s.Reply(first.RequestID, claude.Deny("no", false)))
			}
			require.Equal(t, []string{"toolu_2", "toolu_1"}, toolResults(append(before, s.until(claude.TypeResult)...)))
		})
	}
}

func TestInterruptWhileOpen(t *testing.T) {
	s := prompted(t, turns(claudetest.Message(claudetest.Question("toolu_1", claudetest.Q("One?", "1", false, "A", "B")))))
	req := s.last(claude.TypeControlRequest)
	require.NoError(t, s.Interrupt(s.ctx))
	all := s.until(claude.TypeResult)
	var cancelled []string
	for _, m := range all {
		if m.Type == claude.TypeControlCancel {
			cancelled = append(cancelled, m.RequestID())
		}
	}
	require.Equal(t, []string{req.RequestID()}, cancelled)
	require.Equal(t, "aborted_tools", field(all[len(all)-1], "terminal_reason").String())
	require.NoError(t, s.Reply(req.RequestID(), claude.Deny("late", false)), "a late answer hurts nobody")
	require.NoError(t, s.Prompt("next"))
	require.Equal(t, "success", s.last(claude.TypeResult).Subtype)
}

func TestControlErrors(t *testing.T) {
	s := run(t, claudetest.Script{})
	require.NoError(t, s.SetMode(s.ctx, "acceptEdits"))
	require.Equal(t, "acceptEdits", field(s.last(claude.TypeSystem), "permissionMode").String())
	require.NoError(t, s.SetModel(s.ctx, "haiku"))
	err := s.SetMode(s.ctx, "bypassPermissions")
	var refused *claude.ControlError
	require.ErrorAs(t, err, &refused)
	require.Contains(t, err.Error(), "--dangerously-skip-permissions")
	require.NotErrorIs(t, err, claude.ErrExited)
	require.ErrorContains(t, acptest.Err(s.Control(s.ctx, "no_such_thing", object{"x": 1})), "no_such_thing")
}

func TestControlGivesUpWithItsContext(t *testing.T) {
	s := run(t, claudetest.Script{IgnoreInterrupt: true})
	ctx, cancel := context.WithTimeout(s.ctx, 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.Interrupt(ctx), context.DeadlineExceeded)
	require.NoError(t, s.SetModel(s.ctx, "haiku"), "the next one is not confused")
}

func TestUnknownInboundRequestsAreRefused(t *testing.T) {
	s := prompted(t, turns(claudetest.Control("hook_callback"), claudetest.Text("on")))
	require.Equal(t, "on", deltas(s.until(claude.TypeResult)))
	require.Contains(t, string(s.cli.Reply("control:hook_callback")), `does not support`)
}

func TestSurfacedInboundRequest(t *testing.T) {
	s := prompted(t, turns(claudetest.Control("elicitation")), func(o *claude.Options) { o.Surface = []string{"elicitation"} })
	m := s.last(claude.TypeControlRequest)
	require.Equal(t, "elicitation", m.Subtype)
	require.NoError(t, s.Reply(m.RequestID(), object{"action": "decline"}))
	s.until(claude.TypeResult)
	require.JSONEq(t, `{"action":"decline"}`, string(s.cli.Reply("control:elicitation")))
}

func TestResume(t *testing.T) {
	id := claude.NewSessionID()
	dir := t.TempDir()
	s := run(t, claudetest.Script{Turns: []claudetest.Turn{{Steps: []claudetest.Step{claudetest.Text("one")}}, {Steps: []claudetest.Step{claudetest.Text("two")}}}},
		func(o *claude.Options) { o.SessionID, o.Dir = id, dir })
	require.NoError(t, s.Prompt("a"))
	require.Equal(t, "one", deltas(s.until(claude.TypeResult)))
	require.NoError(t, s.Close(s.ctx))
	s.start(func(o *claude.Options) { o.Resume, o.SessionID, o.Dir = id, "ignored", dir })
	require.NoError(t, s.Prompt("b"))
	require.Equal(t, "two", deltas(s.until(claude.TypeResult)))
	require.Contains(t, strings.Join(s.cli.Starts()[1].Args, " "), "--resume "+id)
	require.NotContains(t, s.cli.Starts()[1].Args, "--session-id")
}

func TestResumeOfNothing(t *testing.T) {
	s := run(t, claudetest.Script{}, func(o *claude.Options) { o.Resume = "gone" })
	_, err := s.Initialize(s.ctx)
	require.ErrorIs(t, err, claude.ErrExited)
	require.ErrorContains(t, err, "No conversation found with session ID: gone")
}

func TestStartErrors(t *testing.T) {
	ctx := testContext(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, []byte("text"), 0o644))
	cases := map[string]struct {
		opts claude.Options
		want string
	}{
		"no directory":    {claude.Options{Path: file, Dir: filepath.Join(dir, "gone")}, "does not exist"},
		"not a directory": {claude.Options{Path: file, Dir: file}, "is not a directory"},
		"not executable":  {claude.Options{Path: file, Dir: dir}, "not executable"},
		"no program":      {claude.Options{Path: filepath.Join(dir, "gone"), Dir: dir}, "no such program"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := claude.Start(ctx, c.opts)
			require.Nil(t, p)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestTraceSeesBothDirections(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	s := run(t, turns(claudetest.Text("hello")), func(o *claude.Options) {
		o.Trace = func(dir ndjson.Direction, text []byte) {
			mu.Lock()
			defer mu.Unlock()
			if !json.Valid(text) {
				seen = append(seen, "broken")
			}
			seen = append(seen, string(dir))
		}
	})
	require.NoError(t, s.Prompt("hi"))
	s.until(claude.TypeResult)
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, "out", seen[0])
	require.Contains(t, seen, "in")
	require.NotContains(t, seen, "broken")
}

func TestExitErrorIsReadable(t *testing.T) {
	err := error(&claude.ExitError{Code: 1, Stderr: []string{"one", "two"}})
	require.True(t, errors.Is(err, claude.ErrExited))
	require.Equal(t, "Claude Code exited with status 1:\none\ntwo", err.Error())
	require.Equal(t, "Claude Code was ended by a signal (killed)", (&claude.ExitError{Code: -1, Signal: "killed"}).Error())
}
