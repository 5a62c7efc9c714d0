package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/acp-bridge/acp-bridge/adapter/desk/files"
	"github.com/acp-bridge/acp-bridge/adapter/terminal"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
)

// Modes that a result names: how its answers were got.
const (
	modeInteractive = "interactive"
	modePrint       = "print"
	modeRPC         = "rpc"
)

type askOptions struct {
	dialect, session string
	plain, headless  bool
	answers          answerFlags
	file             string
}

func runAsk(ctx context.Context, args []string, s streams) error {
	var o askOptions
	fs := newFlags("ask", "[FLAGS] [FILE]\n\n"+
		"Ask the questions of a call in the terminal and print the call's result.\n"+
		"Without a terminal they wait in a file; see acp-bridge questions.\n"+
		"Exit code: 0 answered, 1 failed, 2 bad input, 3 cancelled, 4 pending.", s)
	fs.StringVar(&o.dialect, "dialect", "", "`dialect` of the call: "+strings.Join(dialect.IDs(), ", ")+" (default: recognised)")
	fs.StringVar(&o.session, "session", "", "session `id` of the call")
	fs.BoolVar(&o.plain, "plain", false, "ask line by line, without drawing (for screen readers)")
	fs.BoolVar(&o.headless, "headless", false, "use no terminal even if there is one")
	o.answers.flags(fs)
	var err error
	if o.file, err = fs.parse(args); err != nil {
		return err
	}
	if o.answers.file == "-" && (o.file == "" || o.file == "-") {
		return usagef("stdin cannot hold both the call and the answers")
	}
	if (o.file == "" || o.file == "-") && isTerminal(s.in) {
		fmt.Fprintln(s.err, "Type or paste a question call, then Ctrl+D.")
	}
	req, err := decodeFile(o.file, o.dialect, s)
	if err != nil {
		return err
	}
	req.Call.Session = firstOf(o.session, req.Call.Session)
	reply, file, err := o.ask(ctx, req.Call, s)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(s.out, "%s\n", dialect.Encode(req, reply).Body); err != nil {
		return err
	}
	if file != nil && (reply.Outcome.Status == convert.Answered || file.Cancelled) {
		if err := (&files.Store{}).Clear(file); err != nil {
			fmt.Fprintf(s.err, "acp-bridge ask: the answers were used, but %s\n", oneLine(err))
		}
	}
	return exitOf(reply)
}

// ask gets answers from the first that has them: the command line, the file
// where the questions wait, the terminal. Without any the questions go into a
// file. The file that is returned is of no more use once they are answered.
func (o *askOptions) ask(ctx context.Context, c convert.Call, s streams) (dialect.Reply, *files.File, error) {
	store := &files.Store{Report: func(err error) { fmt.Fprintf(s.err, "acp-bridge ask: %s; it is kept\n", oneLine(err)) }}
	data, given, err := o.answers.read(s)
	if err != nil {
		return dialect.Reply{}, nil, err
	}
	if given {
		r := answeredNow(nil, modePrint)
		if r.Outcome, err = o.answers.outcome(c, data); err != nil {
			return dialect.Reply{}, nil, err
		}
		file, _ := (&files.Store{}).Find(c)
		return r, file, nil
	}
	file, err := store.Find(c)
	switch {
	case errors.Is(err, files.ErrDamaged), errors.Is(err, files.ErrAnswer):
		return dialect.Reply{}, nil, usagef("%w; correct it, or remove it with acp-bridge questions clear", err)
	case err != nil && !errors.Is(err, files.ErrNotFound):
		return dialect.Reply{}, nil, err
	case file != nil && file.Settled():
		return fromFile(file, modePrint), file, nil
	}
	if !o.headless {
		outcome, err := askTerminal(ctx, c, o.plain, s)
		if !errors.Is(err, terminal.ErrNoTerminal) {
			r := answeredNow(outcome.Answers, modeInteractive)
			r.Outcome = outcome
			return r, file, nil
		}
	}
	if file == nil {
		// The damaged were reported by Find.
		if file, err = (&files.Store{}).Post(c); err != nil {
			return dialect.Reply{}, nil, err
		}
	}
	fmt.Fprint(s.err, instructions(file))
	return dialect.Reply{
		Outcome:     convert.Outcome{Status: convert.Failed, Reason: pendingMessage(file)},
		PendingFile: file.Path,
	}, file, nil
}

// exitOf is the exit code that a reply means.
func exitOf(r dialect.Reply) error {
	switch {
	case r.PendingFile != "":
		return exitError{code: exitPending}
	case r.Outcome.Status == convert.Answered:
		return nil
	case r.Outcome.Status == convert.Cancelled, r.Outcome.Status == convert.Declined:
		return exitError{code: exitCancelled}
	}
	return errors.New(r.Outcome.Message())
}
