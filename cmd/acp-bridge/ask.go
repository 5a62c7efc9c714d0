package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os/signal"
	"strings"
	"syscall"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
	"github.com/acp-bridge/acp-bridge/internal/pending"
)

// Modes that a result names: how its answers were got.
const (
	modeInteractive = "interactive"
	modePrint       = "print"
)

type askOptions struct {
	dialect, session string
	plain, headless  bool
	print            string // resultForm or answerForm
	answers          answerFlags
	hub              hubFlags
	file             string
	words            []string // a question and its options, in place of a file
}

// What is printed of how a call ended: the result of its dialect, or the answer alone.
const resultForm, answerForm = "result", "answer"

func askCommand(fs *flagSet) runner {
	o := new(askOptions)
	dialectFlag(fs, &o.dialect, "dialect")
	fs.StringVar(&o.session, "session", "", "session `id` of the call")
	fs.BoolVar(&o.plain, "plain", false, "ask line by line, without drawing (for screen readers)")
	fs.BoolVar(&o.headless, "headless", false, "do not use the terminal, even if there is one")
	fs.StringVar(&o.print, "print", resultForm, "`what` to print: result, in the form of the call's agent, or answer, the answer alone, a line for each question")
	fs.Values("print", resultForm, answerForm)
	o.answers.flags(fs)
	o.hub.flags(fs)
	return func(ctx context.Context, args []string, s streams) (err error) {
		words, err := fs.ParseWords(args)
		switch {
		case err != nil:
			return err
		case len(words) == 1:
			o.file = words[0]
		case len(words) > 1 && o.dialect != "":
			return misused("--dialect is for a call in a file: expected none beside a question and its options")
		default:
			o.words = words
		}
		if o.answers.file == "-" && len(o.words) == 0 && (o.file == "" || o.file == "-") {
			return misused("stdin cannot hold both the call and the answers")
		}
		if err := o.hub.check(0); err != nil {
			return err
		}
		return o.run(ctx, s)
	}
}

func (o *askOptions) run(ctx context.Context, s streams) error {
	req, err := o.call(s)
	if errors.Is(err, convert.ErrOptionCount) || errors.Is(err, convert.ErrTooManyQuestions) {
		return usagef(`%w; --dialect pi takes any number of questions and options, and so does {"question":"…","options":["…"]}`, err)
	}
	if err != nil {
		return err
	}
	req.Call.Session = cmp.Or(o.session, req.Call.Session)
	p := chainOf("ask", "", s)
	if p.Given, err = o.answers.forCall(s); err != nil {
		return err
	}
	p.GivenBy, p.Leave = o.answers.name(), true
	if !o.headless {
		p.Terminal = nearby{o.plain, s}
	}
	p.Sessions = func(c convert.Call) []string { return []string{"ask " + c.Session} }
	p.Hub = o.hub.Options(hubLogger("ask", s))
	// An answer that has come is printed, also if a signal does when the terminal is
	// left already.
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	chain := pending.New(p)
	defer chain.Close()
	a := chain.Begin(ctx, req.Call)
	if p.Terminal != nil && p.Given == nil && a.Err() == nil && a.Ready() {
		if tty, err := openTerminal(s); err == nil { // somebody sits there, and is not asked
			tty.close()
			tell(s, "ask", "an earlier run asked this, and its answer is used; run it again to be asked")
		}
	}
	return printReply(a, req, o.print == answerForm, s)
}

// call is what is asked: the call in a file, or the question on the command line.
func (o *askOptions) call(s streams) (dialect.Request, error) {
	if len(o.words) == 0 {
		req, err := decodeFile(o.file, o.dialect, s)
		if errors.Is(err, fs.ErrNotExist) {
			err = misused("%w; a question needs its options: acp-bridge ask 'Deploy?' Yes No", err)
		}
		return req, err
	}
	data, err := json.Marshal(map[string]any{"question": o.words[0], "options": o.words[1:]})
	if err != nil {
		return dialect.Request{}, err
	}
	req, err := dialect.Decode(data, "")
	if err != nil {
		return req, usagef("%w", err)
	}
	return req, nil
}

// printReply prints how a call ended, in the form of its dialect. What was taken
// away from it meanwhile is printed as that.
func printReply(a *pending.Asking, req dialect.Request, answerOnly bool, s streams) error {
	reply := dialect.Reply{Mode: modePrint}
	var err error
	reply.Outcome, err = a.Wait()
	switch why := a.Err(); {
	case errors.Is(why, pending.ErrPending):
		fmt.Fprint(s.Err, instructions(a.File(), ""))
		reply.Outcome.Reason, reply.PendingFile = pendingMessage(a.File()), a.File().Path
	case why != nil:
		return uncorrected(why)
	case err == nil:
		reply.AnsweredAt = a.At()
	}
	if a.Here() {
		reply.Mode = modeInteractive
	}
	printed := false
	print := func() error {
		printed = true
		if answerOnly {
			return printAnswers(reply.Outcome, s)
		}
		_, err := fmt.Fprintf(s.Out, "%s\n", dialect.Encode(req, reply).Body)
		return err
	}
	if err = a.Deliver(print); !printed {
		reply.Outcome, _ = adapter.Settle(req.Call, convert.Outcome{}, err)
		err = print()
	}
	return errors.Join(err, exitOf(reply))
}

// printAnswers prints what was picked and written, and nothing where that is nothing: the
// exit code says why.
func printAnswers(o convert.Outcome, s streams) error {
	for _, a := range o.Answers {
		if _, err := fmt.Fprintln(s.Out, strings.Join(a.Items(), ", ")); err != nil {
			return err
		}
	}
	return nil
}

// uncorrected is why nothing was asked. A file that a person has to correct is
// their mistake.
func uncorrected(err error) error {
	if errors.Is(err, pending.ErrDamaged) || errors.Is(err, pending.ErrAnswer) {
		return usagef("%w; correct it, or remove it with acp-bridge questions clear", err)
	}
	return err
}

// exitOf is the exit code that a reply means.
func exitOf(r dialect.Reply) error {
	switch {
	case r.PendingFile != "":
		return cli.Exit{Code: exitPending}
	case r.Outcome.Status == convert.Answered:
		return nil
	case r.Outcome.Status == convert.Cancelled, r.Outcome.Status == convert.Declined:
		return cli.Exit{Code: exitCancelled}
	}
	return errors.New(r.Outcome.Message())
}
