package main

import (
	"context"
	"encoding/json"
	"os"
	"os/signal"
	"syscall"

	"github.com/acp-bridge/acp-bridge/adapter/pipe"
)

func runRPC(ctx context.Context, args []string, s streams) error {
	var a rpcAsker
	var answers answerFlags
	var only string
	var headless bool
	fs := newFlags("rpc", "[FLAGS]\n\n"+
		"Read requests from stdin, one JSON object a line: pi's ask_user_request and\n"+
		"Opal's client/ask_user. Ask them in the terminal, one at a time, and write the\n"+
		"responses to stdout. Without a terminal each waits in a file until that is\n"+
		"answered; see acp-bridge questions. With --answers nobody is asked: each\n"+
		"question takes the next entry, or that of its text, and a request for which\n"+
		"there is none fails.", s)
	fs.StringVar(&only, "dialect", "", "take requests of pi or opal only (default: both)")
	fs.BoolVar(&a.plain, "plain", false, "ask line by line, without drawing (for screen readers)")
	fs.BoolVar(&headless, "headless", false, "use no terminal even if there is one")
	answers.flags(fs)
	file, err := fs.parse(args)
	switch {
	case err != nil:
		return err
	case file != "":
		return usagef("unexpected argument %q: requests are read from stdin", file)
	case only != "" && only != "pi" && only != "opal":
		return usagef("--dialect must be pi or opal, got %q", only)
	case answers.file == "-":
		return usagef("stdin cannot hold both the requests and the answers")
	}
	if err := a.prepare(answers, headless, s); err != nil {
		return err
	}
	if a.tty != nil {
		defer a.tty.close()
	}
	// A peer that no longer reads must not end us before files are cleared.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer a.watchHangup(stop)()
	server := &pipe.Server{Ask: a.ask, Dialect: only, Report: func(problem string) { a.say("%s", problem) }}
	return server.Serve(ctx, s.in, s.out)
}

// prepare decides, once for all requests, who answers them.
func (a *rpcAsker) prepare(answers answerFlags, headless bool, s streams) error {
	a.log = s.err
	a.store.Report = func(err error) { a.say("%s; it is kept", oneLine(err)) }
	data, given, err := answers.read(s)
	switch {
	case err != nil:
		return err
	case given:
		a.answers = true
		if json.Unmarshal(data, &a.given) != nil && json.Unmarshal(data, &a.byText) != nil {
			return usagef("%s: expected a JSON array with an answer for each question, or an object by question text", answers.name())
		}
	case !headless && isTerminal(s.in):
		return usagef("stdin is a terminal: the requests come on a pipe, the terminal is for the answers (or use --headless)")
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
