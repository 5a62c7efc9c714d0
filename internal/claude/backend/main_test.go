package backend_test

import (
	"cmp"
	"context"
	"io"
	"os"
	"testing"

	"go.uber.org/goleak"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
	"github.com/acp-bridge/acp-bridge/internal/claude/backend"
	"github.com/acp-bridge/acp-bridge/internal/claude/claudetest"
	"github.com/acp-bridge/acp-bridge/internal/leaktest"
)

func TestMain(m *testing.M) {
	claudetest.Main()
	removeStandIn := claudetest.Build()
	leaktest.Parallel(12)
	goleak.VerifyTestMain(leaktest.Patient(m), goleak.Cleanup(func(code int) {
		removeStandIn()
		os.Exit(code)
	}))
}

// editor has what only the tests of this package ask of one.
type editor struct{ *acptest.Editor }

// serve starts an agent with an editor.
func serve(t testing.TB, opts backend.Options) *editor {
	opts.TrustPrompts = true                                      // the guards have their own tests
	opts.CancelGrace = cmp.Or(opts.CancelGrace, acptest.Patience) // a CLI on a busy machine is not killed
	if opts.Logger == nil {
		opts.Logger = acptest.NewLogger(t)
	}
	return &editor{acptest.NewEditor(t, func(ctx context.Context, in io.Reader, out io.Writer) error { return backend.Serve(ctx, in, out, opts) })}
}

// scripted joins an editor to a scripted stand-in for the CLI.
func scripted(t testing.TB, script claudetest.Script) (*editor, *claudetest.CLI) {
	t.Helper()
	cli := claudetest.New(t, script)
	return serve(t, backend.Options{Claude: cli.Path}), cli
}

// turns is a script with a turn for each list of steps.
func turns(list ...[]claudetest.Step) claudetest.Script {
	var s claudetest.Script
	for _, steps := range list {
		s.Turns = append(s.Turns, claudetest.Turn{Steps: steps})
	}
	return s
}

type steps = []claudetest.Step

type object = map[string]any

func question(text, header string, multi bool, labels ...string) object {
	var options []object
	for _, l := range labels {
		options = append(options, object{"label": l, "description": "about " + l})
	}
	return object{"question": text, "header": header, "multiSelect": multi, "options": options}
}

// initializeAs makes the editor a client of the table.
func (e *editor) initializeAs(name, caps string) {
	e.T.Helper()
	e.Call(acp.AgentMethodInitialize, `{"protocolVersion":1,"clientInfo":{"name":"`+name+`","version":"1"},"clientCapabilities":`+caps+`}`)
}
