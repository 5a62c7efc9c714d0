package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"syscall"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/adapter/terminal"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/pending"
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
	hub              hubFlags
	desk             *hubDesk // nil without a hub
	file             string
}

func askCommand(fs *flagSet) runner {
	o := new(askOptions)
	dialectFlag(fs, &o.dialect, "dialect")
	fs.StringVar(&o.session, "session", "", "session `id` of the call")
	fs.BoolVar(&o.plain, "plain", false, "ask line by line, without drawing (for screen readers)")
	fs.BoolVar(&o.headless, "headless", false, "use no terminal even if there is one")
	o.answers.flags(fs)
	o.hub.flags(fs)
	return func(ctx context.Context, args []string, s streams) (err error) {
		if o.file, err = fs.parse(args); err != nil {
			return err
		}
		if o.answers.file == "-" && (o.file == "" || o.file == "-") {
			return misused("stdin cannot hold both the call and the answers")
		}
		if err := o.hub.check(0); err != nil {
			return err
		}
		return o.run(ctx, s)
	}
}

func (o *askOptions) run(ctx context.Context, s streams) error {
	req, err := decodeFile(o.file, o.dialect, s)
	if err != nil {
		return err
	}
	req.Call.Session = firstOf(o.session, req.Call.Session)
	if o.desk = o.hub.open("acp-bridge ask", s); o.desk != nil {
		defer o.desk.close()
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
	}
	for {
		got, err := o.ask(ctx, req.Call, s)
		if err != nil {
			return err
		}
		again, err := got.print(func() error {
			_, err := fmt.Fprintf(s.out, "%s\n", dialect.Encode(req, got.reply).Body)
			return err
		}, s)
		if !again {
			if err == nil {
				o.desk.used(req.Call.Session)
			}
			return errors.Join(err, exitOf(got.reply))
		}
	}
}

// print prints the reply; the file is of no more use then. again means that
// somebody else has used the answers in it, or changed them.
func (r askResult) print(print func() error, s streams) (again bool, err error) {
	printed := false
	once := func() error {
		err := print()
		printed = err == nil
		return err
	}
	store := &pending.Store{}
	switch {
	case r.taken:
		err = store.Take(r.file, once)
		if !printed && (errors.Is(err, pending.ErrGone) || errors.Is(err, pending.ErrChanged)) {
			return true, nil
		}
	default:
		if err = once(); err == nil && r.file != nil && r.reply.Outcome.Status == convert.Answered {
			err = store.Clear(r.file)
		}
	}
	if printed && err != nil {
		fmt.Fprintf(s.err, "acp-bridge ask: the answers were used, but %s\n", oneLine(err))
		err = nil
	}
	return false, err
}

// ask gets answers from the first that has them: the file where the questions
// wait, the command line, the terminal. Without any the questions go into a
// file.
func (o *askOptions) ask(ctx context.Context, c convert.Call, s streams) (r askResult, err error) {
	store := &pending.Store{Report: func(err error) { fmt.Fprintf(s.err, "acp-bridge ask: %s; it is kept\n", oneLine(err)) }}
	data, given, err := o.answers.read(s)
	if err != nil {
		return r, err
	}
	if given {
		outcome, err := o.answers.outcome(c, data, s.err)
		if err != nil {
			return r, err
		}
		file, _ := (&pending.Store{}).Find(c)
		return o.own(c, file, outcome, modePrint, o.answers.name()+" is", s), nil
	}
	r.file, err = store.Find(c)
	switch {
	case errors.Is(err, pending.ErrDamaged), errors.Is(err, pending.ErrAnswer):
		return r, usagef("%w; correct it, or remove it with acp-bridge questions clear", err)
	case err != nil && !errors.Is(err, pending.ErrNotFound):
		return r, err
	case r.file != nil && r.file.Settled():
		r.reply, r.taken = fromFile(r.file, modePrint), true
		return r, nil
	}
	if o.desk != nil {
		return o.askAtHub(ctx, c, r, s), nil
	}
	if !o.headless {
		outcome, err := askTerminal(ctx, c, o.plain, s)
		if !errors.Is(err, terminal.ErrNoTerminal) {
			return o.own(c, r.file, outcome, modeInteractive, "what was chosen here is", s), nil
		}
	}
	if r.file == nil {
		// The damaged were reported by Find.
		if r.file, err = (&pending.Store{}).Post(c); err != nil {
			return r, err
		}
		if r.file.Settled() { // by another run of the same call
			r.reply, r.taken = fromFile(r.file, modePrint), true
			return r, nil
		}
	}
	fmt.Fprint(s.err, instructions(r.file))
	r.reply = dialect.Reply{
		Outcome:     convert.Outcome{Status: convert.Failed, Reason: pendingMessage(r.file)},
		PendingFile: r.file.Path,
	}
	return r, nil
}

// askAtHub asks at the hub, and in the terminal if there is one.
func (o *askOptions) askAtHub(ctx context.Context, c convert.Call, r askResult, s streams) askResult {
	local := func(ctx context.Context, c convert.Call) (convert.Outcome, error) {
		return askTerminal(ctx, c, o.plain, s)
	}
	if o.headless {
		local = nil
	}
	outcome, here := o.desk.ask(ctx, desk.Question, c, local)
	if here {
		return o.own(c, r.file, outcome, modeInteractive, "what was chosen here is", s)
	}
	r.reply = answeredNow(nil, modePrint)
	r.reply.Outcome = outcome
	return r
}

// own is what comes of an outcome that was got here. The first answers stand.
func (o *askOptions) own(c convert.Call, f *pending.File, outcome convert.Outcome, mode, what string, s streams) askResult {
	r := askResult{reply: answeredNow(nil, mode), file: f}
	r.reply.Outcome = outcome
	return r.settle(c, modePrint, func(err error) {
		fmt.Fprintf(s.err, "acp-bridge ask: %s not used: %s: %s\n", what, clean.Line(f.Path), oneLine(err))
	})
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
