//go:build unix

package soak_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/adapter/proxy"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	ct "github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

// editor is [acptest.Editor].
type editor = acptest.Editor

// proxied is the agent behind the proxy: what asks the editor is the proxy. The
// agent sees an editor that has forms.
func proxied(ctx context.Context, in io.Reader, out io.Writer, o backend.Options) error {
	outer := proxy.Options{First: o.First, Guard: o.Guard, TrustPrompts: o.TrustPrompts, Now: o.Now, CancelGrace: o.CancelGrace, Logger: o.Logger}
	if trace := o.Trace; trace != nil { // the editor's wire is the proxy's, that of the CLI the agent's
		wires := func(editor bool) func(string, ndjson.Direction, []byte) {
			return func(wire string, d ndjson.Direction, text []byte) {
				if (wire == "editor") == editor {
					trace(wire, d, text)
				}
			}
		}
		outer.Trace, o.Trace = wires(true), wires(false)
	}
	o.First, o.Guard, o.Now = 0, false, nil
	agentIn, toAgent := io.Pipe()
	fromAgent, agentOut := io.Pipe()
	served := make(chan error, 1)
	go func() {
		err := backend.Serve(ctx, agentIn, agentOut, o)
		agentIn.Close()
		agentOut.Close()
		served <- err
	}()
	err := proxy.Relay(ctx, proxy.Stream{In: in, Out: out}, proxy.Stream{In: fromAgent, Out: toAgent}, outer)
	toAgent.Close()
	go io.Copy(io.Discard, fromAgent)
	return errors.Join(err, <-served)
}

// closePipe has a CLI close its output or its input and waits until it has.
func closePipe(t testing.TB, cli *ct.CLI, pid int, which syscall.Signal) {
	_ = syscall.Kill(pid, which)
	require.Eventually(t, func() bool {
		for _, l := range cli.Lines() {
			if l.Pid == pid && (l.EOF && which == ct.CloseStdinNow || l.Mute && which == ct.CloseStdoutNow) {
				return true
			}
		}
		return syscall.Kill(pid, 0) != nil
	}, acptest.Patience, time.Millisecond)
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// serveWith is serve with something else in the place of the agent.
func serveWith(t testing.TB, opts backend.Options, run serving) *editor {
	opts.TrustPrompts = true                                      // the guards have their own tests
	opts.CancelGrace = cmp.Or(opts.CancelGrace, acptest.Patience) // a CLI on a busy machine is not killed
	if opts.Logger == nil {
		opts.Logger = acptest.NewLogger(t)
	}
	return acptest.NewEditor(t, func(ctx context.Context, in io.Reader, out io.Writer) error { return run(ctx, in, out, opts) })
}

// freeze stops a CLI and waits until it stands: all its threads take a moment.
func freeze(t testing.TB, pid int) {
	stat := fmt.Sprintf("/proc/%d/stat", pid)
	require.Eventually(t, func() bool {
		_ = syscall.Kill(pid, syscall.SIGSTOP) // again, should an earlier freeze end now
		text, err := os.ReadFile(stat)
		return err != nil || strings.Contains(string(text), ") T ") // there is no /proc, or it says so
	}, acptest.Patience, time.Millisecond)
}

// wish is what the user wants to say to a question: picks, words, or, if it is
// empty, to dismiss it.
type wish struct {
	picks []string
	text  string
}

// process says what is known of a process.
func process(pid int) string {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return fmt.Sprintf("%d %q\n%s", pid, args, status)
}

// half is the beginning of a reply.
func half(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":{"outcome":{"outcome":"selected","optionId":"never given"}`
}

type steps = []ct.Step

type object = map[string]any

// serving is how an agent is served: [backend.Serve], or something around it.
type serving func(context.Context, io.Reader, io.Writer, backend.Options) error
