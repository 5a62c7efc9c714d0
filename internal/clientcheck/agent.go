package clientcheck

import (
	"context"
	"io"
	"time"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/internal/scripted"
)

// Options say how to check. The zero value is good.
type Options struct {
	// Version is what initialize reports.
	Version string
	// Now is the clock by which answers are too fast; nil is [time.Now].
	Now func() time.Time
}

// Serve checks the client until it closes its end or ctx ends.
func Serve(ctx context.Context, r io.Reader, w io.Writer, o Options) error {
	guard := o.Now
	if o.Now == nil {
		o.Now = time.Now
	}
	wire := newWire(o.Now)
	agent := &scripted.Agent{
		Word: "check", Name: "check-client", Version: o.Version, Prompt: "go on", Met: wire.met,
		New: func(out *editor.Session) func() {
			c := &check{version: o.Version, wire: wire, out: out}
			return c.play
		},
	}
	open := new(desk.Desk)
	defer open.Watch(wire.asked)()
	err := editor.Serve(ctx, r, w, agent, &editor.Options{Desk: open, Now: guard, Trace: wire.line})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// check is one run of the check. It goes on with the next step at each prompt: a
// step that was dismissed ends a turn.
type check struct {
	version string
	wire    *wire
	out     *editor.Session

	next    int
	results []result
}

func (c *check) say(text string) { c.out.Text(editor.MessageChunk, text) }
