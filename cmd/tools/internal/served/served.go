// Package served has an agent with the stand-in for Claude Code, at an editor or behind
// the proxy, for tests that play many of them, and what goes wrong with its processes.
package served

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/acp-bridge/acp-bridge/adapter/proxy"
	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	"github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
)

// Main is for a TestMain: it has the stand-in built, and runs the tests, of which some
// wait at once. Goroutines that outlive them are a failure.
func Main(m *testing.M, atOnce int) {
	claudetest.Main()
	remove := claudetest.Build()
	leaktest.Parallel(atOnce)
	goleak.VerifyTestMain(leaktest.Patient(m), goleak.Cleanup(func(code int) {
		remove()
		os.Exit(code)
	}))
}

// By is how an agent is served: [backend.Serve], or [Proxied].
type By func(context.Context, io.Reader, io.Writer, backend.Options) error

// To serves an editor.
func (by By) To(t testing.TB, o backend.Options) *acptest.Editor {
	o.TrustPrompts = true                                   // the guards have their own tests
	o.CancelGrace = cmp.Or(o.CancelGrace, acptest.Patience) // a CLI on a busy machine is not killed
	if o.Logger == nil {
		o.Logger = acptest.NewLogger(t)
	}
	return acptest.NewEditor(t, func(ctx context.Context, in io.Reader, out io.Writer) error { return by(ctx, in, out, o) })
}

// Proxied is the agent behind the proxy: what asks the editor is the proxy. The
// agent sees an editor that has forms.
func Proxied(ctx context.Context, in io.Reader, out io.Writer, o backend.Options) error {
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
