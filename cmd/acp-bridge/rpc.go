package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/acp-bridge/acp-bridge/adapter/pipe"
)

func rpcCommand(fs *flagSet) runner {
	var a rpcAsker
	var answers answerFlags
	var only string
	var headless bool
	var hub hubFlags
	editor := acpFlags{hub: &hub}
	fs.StringVar(&only, "dialect", "", "take requests of this `dialect` only, pi or opal (default: both)")
	fs.values("dialect", "pi", "opal")
	fs.BoolVar(&a.plain, "plain", false, "ask line by line, without drawing (for screen readers)")
	fs.BoolVar(&headless, "headless", false, "use no terminal even if there is one")
	fs.BoolVar(&a.wait, "wait", false, "wait for the answers to what is open after stdin has ended")
	answers.flags(fs)
	editor.flags(fs)
	hub.flags(fs)
	return func(ctx context.Context, args []string, s streams) error {
		args, editor.command = cutArgs(args)
		err := fs.parseFlags(args, ": requests are read from stdin")
		if err == nil {
			err = hub.check(0)
		}
		switch {
		case err != nil:
			return err
		case only != "" && only != "pi" && only != "opal":
			return misused("--dialect must be pi or opal, got %q", only)
		case answers.file == "-":
			return misused("stdin cannot hold both the requests and the answers")
		case editor.on && (headless || a.plain || answers.given || answers.file != ""):
			return misused("with --acp the editor answers: --headless, --plain and --answers have no place")
		}
		if err := editor.check(fs); err != nil {
			return err
		}
		if editor.on {
			return editor.serve(ctx, only, s)
		}
		if err := a.prepare(answers, headless, s); err != nil {
			return err
		}
		if a.hub = hub.open("acp-bridge rpc", s); a.hub != nil {
			a.hub.leaves = func(ctx context.Context) bool { return !errors.Is(context.Cause(ctx), pipe.ErrWithdrawn) }
			defer a.hub.close()
		}
		return a.serve(ctx, only, s)
	}
}

func (a *rpcAsker) serve(ctx context.Context, only string, s streams) error {
	if a.tty != nil {
		defer a.tty.close()
	}
	// A peer that no longer reads must not end us before files are cleared.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer a.watchHangup(stop)()
	server := &pipe.Server{Ask: a.ask, Dialect: only, Wait: a.wait, Report: func(problem string) { a.say("%s", problem) }}
	return server.Serve(ctx, s.in, s.out)
}

// prepare decides, once for all requests, who answers them.
func (a *rpcAsker) prepare(answers answerFlags, headless bool, s streams) error {
	a.log = s.err
	a.store.Report = func(err error) { a.say("%s; it is kept", oneLine(err)) }
	var err error
	a.answers, err = answers.list(s)
	switch {
	case err != nil:
		return err
	case a.answers != nil:
	case !headless && isTerminal(s.in):
		return misused("stdin is a terminal: the requests come on a pipe, the terminal is for the answers (or use --headless)")
	case !headless:
		a.tty, _ = openTerminal(s) // without one there are the files
	}
	return nil
}

// watchHangup notices that the terminal is gone while nothing is asked on it.
// Without a terminal a SIGHUP ends the program, as it does by default.
func (a *rpcAsker) watchHangup(end func()) (stop func()) {
	hangup, stopped := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(hangup, syscall.SIGHUP)
	go func() {
		select {
		case <-hangup:
			if a.gone.Store(true); a.tty == nil {
				end()
			}
		case <-stopped:
		}
	}()
	return func() {
		signal.Stop(hangup)
		close(stopped)
	}
}
