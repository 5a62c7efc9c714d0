package demo

import (
	"context"
	"io"
	"strconv"
	"sync/atomic"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/internal/scripted"
)

// Options say how to play. The zero value is good.
type Options struct {
	// Version is what initialize reports.
	Version string
	// Desk gets everything that is asked; nil is one of its own.
	Desk *desk.Desk
}

// Serve plays the agent until the client closes its end or ctx ends.
func Serve(ctx context.Context, r io.Reader, w io.Writer, o Options) error {
	var calls atomic.Int32
	agent := &scripted.Agent{
		Word: "demo", Name: "demo", Version: o.Version, Prompt: Prompt,
		New: func(out *editor.Session) func() {
			return func() { play(out, "demo_call_"+strconv.Itoa(int(calls.Add(1)))) }
		},
	}
	err := editor.Serve(ctx, r, w, agent, &editor.Options{Desk: o.Desk})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
