package scripted

import (
	"context"
	"io"
	"strconv"
	"sync/atomic"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/adapter/editor"
)

// DemoOptions say how to play the demo. The zero value is good.
type DemoOptions struct {
	// Version is what initialize reports.
	Version string
	// Desk gets everything that is asked; nil is one of its own.
	Desk *desk.Desk
}

// ServeDemo plays the demo until the client closes its end or ctx ends: on each
// prompt it asks the same questions and says what it received, as acp-bridge asks, so
// that it shows how an editor shows questions.
func ServeDemo(ctx context.Context, r io.Reader, w io.Writer, o DemoOptions) error {
	var calls atomic.Int32
	agent := &Agent{
		Word: "demo", Name: "demo", Version: o.Version, Prompt: DemoPrompt,
		New: func(out *editor.Session, _ string) Turn {
			return func(context.Context, string) error {
				play(out, "demo_call_"+strconv.Itoa(int(calls.Add(1))))
				return nil
			}
		},
	}
	return agent.serve(ctx, r, w, editor.Options{Desk: o.Desk})
}
