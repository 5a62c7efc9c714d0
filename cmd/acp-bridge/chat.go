package main

import (
	"context"
	"errors"
	"os/signal"
	"slices"
	"syscall"

	"github.com/acp-bridge/acp-bridge/adapter/client"
)

// runChat talks to an ACP agent in the terminal.
func runChat(ctx context.Context, args []string, s streams) error {
	o := clientOptions(s)
	dashes := slices.Contains(args, "--")
	args, agent := cutArgs(args)
	fs := newFlags("chat", "[FLAGS] -- AGENT [ARGUMENTS]", s)
	fs.BoolVar(&o.Plain, "plain", false, "read and write lines, without drawing")
	fs.BoolVar(&o.Wire, "wire", false, "show the ACP messages")
	fs.BoolVar(&o.Resume, "resume", false, "choose one of the agent's sessions of this directory to go on with")
	fs.StringVar(&o.Session, "session", "", "go on with the session that has this `id`")
	fs.StringVar(&o.Dir, "cwd", "", "working `directory` of the agent and its session (default: here)")
	file, err := fs.parse(args)
	switch {
	case err != nil:
		return err
	case file != "" && !dashes:
		return usagef("the agent comes after a double dash: acp-bridge chat -- %s", file)
	case file != "":
		return usagef("unexpected argument %q before the double dash", file)
	case len(agent) == 0:
		return usagef("no agent given; usage: acp-bridge chat [FLAGS] -- AGENT [ARGUMENTS], as in acp-bridge chat -- acp-bridge")
	}
	if o.Dir, err = absolute(o.Dir); err != nil {
		return err
	}
	ctx, stop := endSignals(ctx)
	defer stop()
	return chatResult(client.RunAgent(ctx, agent, o))
}

func clientOptions(s streams) client.Options {
	return client.Options{In: s.in, Out: s.out, Err: s.err, Version: version()}
}

// endSignals ends the context on signals that end the process. SIGINT is the
// client's: it cancels a turn. A reader of stdout that is gone is no reason to
// leave an agent behind.
func endSignals(ctx context.Context) (context.Context, context.CancelFunc) {
	signal.Ignore(syscall.SIGPIPE)
	return signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP)
}

// chatResult is how a client's end ends the program.
func chatResult(err error) error {
	if errors.Is(err, client.ErrCancelled) {
		return exitError{exitCancelled}
	}
	return err
}
