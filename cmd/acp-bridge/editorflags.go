package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/acp-bridge/acp-bridge/adapter"
)

// editorFlags are those of every command that an editor starts.
type editorFlags struct {
	ask   string
	guard bool
	log   logOptions
	hub   hubFlags
}

// flags defines them; when says, of a command that does something else as well, when they count.
func (e *editorFlags) flags(fs *flagSet, when string) {
	fs.FromEnv(&e.ask, "ask", "ACP_BRIDGE_ASK", "`way` to ask first: auto, form, permission or message; hub asks only there"+when)
	fs.Values("ask", "auto", "form", "permission", "message", "hub")
	fs.BoolVar(&e.guard, "guard-auto-answers", false, "distrust answers that come faster than a person can read"+when)
	e.hub.flags(fs)
	e.log.flags(fs)
}

func (e *editorFlags) check() error { return e.hub.check(rung(e.ask)) }

// rung is a value of --ask; without one it is up to the editor.
func rung(name string) adapter.Rung {
	rungs := []adapter.Rung{0, adapter.Form, adapter.Permission, adapter.Conversation, adapter.Elsewhere}
	return rungs[max(0, slices.IndexFunc(rungs, func(r adapter.Rung) bool { return r.String() == name }))]
}

// serve opens the log and the trace for what an editor has started, and runs it until it
// has ended, or was told to.
func (e *editorFlags) serve(ctx context.Context, s streams, run func(ctx context.Context, log *slog.Logger, trace traceFunc) error) error {
	log, trace, closeLog, err := e.log.open(s)
	if err != nil {
		return err
	}
	defer closeLog()
	return untilTold(ctx, func(ctx context.Context) error { return run(ctx, log, trace) })
}

// untilTold runs something until it has ended, or a signal says so, which is no failure. A
// peer that is gone must not end us before what we have started has ended.
func untilTold(ctx context.Context, run func(ctx context.Context) error) error {
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx); ctx.Err() == nil {
		return err
	}
	return nil
}
