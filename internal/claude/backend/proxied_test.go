package backend_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/acp-bridge/acp-bridge/adapter/proxy"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
)

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

// Every client of TestClients, with the proxy between it and the agent. Without
// ACP_BRIDGE_FLEET each goes through half of the scenarios, its neighbour through the
// others.
func TestClientsProxied(t *testing.T) {
	t.Parallel()
	for i, r := range rows {
		r.proxied = true
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			for j, sc := range scenarios {
				if (i+j)%2 == 0 || leaktest.All() {
					t.Run(sc.name, func(t *testing.T) { r.run(t, sc) })
				}
			}
		})
	}
}
