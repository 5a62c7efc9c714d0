package scripted

import (
	"context"
	"io"
	"time"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// CheckOptions say how to check. The zero value is good.
type CheckOptions struct {
	// Version is what initialize reports.
	Version string
	// Now is the clock by which answers are too fast; nil is [time.Now].
	Now func() time.Time
}

// ServeCheck checks the client until it closes its end or ctx ends. An editor's author
// starts it in the editor: it asks every kind of question in turn, says in the
// conversation what to do, looks at what comes back on the wire, and ends with a table:
// what the client can do, what it got wrong, and how its users will be asked.
func ServeCheck(ctx context.Context, r io.Reader, w io.Writer, o CheckOptions) error {
	guard := o.Now
	if o.Now == nil {
		o.Now = time.Now
	}
	wire := &wire{now: o.Now, Guarded: proc.Guarded[notes]{Value: notes{open: map[string]request{}}}}
	agent := &Agent{
		Word: "check", Name: "check-client", Version: o.Version, Prompt: "go on", Met: wire.met,
		New: func(out *editor.Session, _ string) Turn {
			c := &check{version: o.Version, wire: wire, out: out}
			return func(context.Context, string) error { c.play(); return nil }
		},
	}
	open := new(desk.Desk)
	defer open.Watch(wire.asked)()
	return agent.serve(ctx, r, w, editor.Options{Desk: open, Now: guard, Trace: wire.line})
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
