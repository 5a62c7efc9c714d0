package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/adapter/terminal"
	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/pending"
)

type questionsOptions struct {
	action, name string
	all, plain   bool
	json         bool
	answers      answerFlags
	hub          hubFlags
	record       recordFlags
}

// questionsActions are what can be done with them, the first by default.
var questionsActions = []string{"list", "show", "answer", "clear", "history", "forget"}

func questionsCommand(fs *flagSet) runner {
	o := &questionsOptions{action: questionsActions[0]}
	fs.BoolVar(&o.all, "all", false, "clear: remove all")
	fs.BoolVar(&o.plain, "plain", false, "answer: ask line by line, without drawing")
	fs.BoolVar(&o.json, "json", false, "list and show: print JSON; history: print one JSON object per line")
	o.answers.flags(fs)
	fs.StringVar(&o.hub.Address, "hub", "", "`URL` of an acp-bridge-hub: use its questions instead of those in files")
	o.hub.tokenFlag(fs)
	o.record.flags(fs)
	return func(ctx context.Context, args []string, s streams) (err error) {
		if i := actionAt(fs, args); i >= 0 {
			o.action = args[i]
			args = slices.Concat(args[:i], args[i+1:])
		}
		if o.name, err = fs.ParseFile(args); err != nil {
			return err
		}
		if err := o.record.check(o.action); err != nil {
			return err
		}
		if err = o.hub.check(0); ofRecord(o.action) {
			err = o.hub.atLocalHub()
		}
		if err != nil {
			return err
		}
		if err := o.bound(s); err != nil {
			return err
		}
		if len(o.hub.URLs) == 0 {
			return o.run(ctx, files{&pending.Store{}}, s)
		}
		if err := o.hub.hasToken(); err != nil {
			return err
		}
		if ofRecord(o.action) {
			return o.atRecord(ctx, s)
		}
		return o.run(ctx, &o.hub, s)
	}
}

// actionAt is where the action stands: the first word that is neither a flag nor a
// flag's value, -1 without one. Behind flags a word is an action only if it is one
// of ours.
func actionAt(fs *flagSet, args []string) int {
	for i := 0; i < len(args); i++ {
		name := strings.TrimLeft(args[i], "-")
		switch f := fs.Lookup(name); {
		case !strings.HasPrefix(args[i], "-"):
			if i == 0 || slices.Contains(questionsActions, args[i]) {
				return i
			}
			return -1
		case f != nil:
			if b, ok := f.Value.(interface{ IsBoolFlag() bool }); !ok || !b.IsBoolFlag() {
				i++ // its value
			}
		}
	}
	return -1
}

// place is where questions wait: in files, or at a hub.
type place interface {
	list(ctx context.Context) ([]openQuestion, error)
	// choose finds the question that a person named.
	choose(ctx context.Context, o questionsOptions, s streams) (openQuestion, error)
}

// openQuestion is one that waits.
type openQuestion interface {
	// line says in a list what it is, and asks what; of a damaged file nothing.
	line() (what string, asks []convert.Question)
	// shown is the question as --json shows it, and show shows it to people.
	shown() hublink.Waiting
	show(w io.Writer) error
	answer(ctx context.Context, o questionsOptions, s streams) error
	// clear takes it back in its asker's place.
	clear(ctx context.Context, s streams) error
}

func (o questionsOptions) run(ctx context.Context, at place, s streams) error {
	switch {
	case o.action == "list" && o.name != "":
		return misused("unexpected argument %q; acp-bridge questions show %s shows one", o.name, o.name)
	case o.action == "list":
		return o.list(ctx, at, s)
	case o.action != "show" && o.action != "answer" && o.action != "clear":
		return misused("unknown action %q: expected list, show, answer, clear, history or forget%s", o.action, didYouMean(o.action, questionsActions))
	case o.action == "clear" && o.all:
		return o.clearAll(ctx, at, s)
	}
	q, err := at.choose(ctx, o, s)
	switch {
	case err != nil:
		return err
	case o.action == "answer":
		return q.answer(ctx, o, s)
	case o.action == "clear":
		return q.clear(ctx, s)
	case o.json:
		return printJSON(s, q.shown())
	}
	return q.show(s.Out)
}

func (o questionsOptions) list(ctx context.Context, at place, s streams) error {
	all, err := at.list(ctx)
	if err != nil {
		return err
	}
	if o.json {
		list := make([]hublink.Waiting, len(all))
		for i, q := range all {
			list[i] = q.shown()
		}
		return printJSON(s, list)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(s.Out, "No open questions.")
		return err
	}
	for _, q := range all {
		what, asks := q.line()
		fmt.Fprintln(s.Out, what)
		for _, sub := range asks {
			fmt.Fprintf(s.Out, "    %s\n", clean.Truncate(clean.Line(sub.Text), 74))
		}
	}
	return nil
}

func (o questionsOptions) clearAll(ctx context.Context, at place, s streams) error {
	if o.name != "" {
		return misused("--all clears every open question, not just %q", o.name)
	}
	all, err := at.list(ctx)
	for _, q := range all {
		err = errors.Join(err, q.clear(ctx, s))
	}
	return err
}

// bound refuses answers that name no question: they were written for one that was open
// then, and another may be the only one by now. Answers by the texts of the questions
// name them.
func (o *questionsOptions) bound(s streams) error {
	if o.action != "answer" || o.name != "" {
		return nil
	}
	data, given, err := o.answers.read(s)
	if err == nil && given && !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		err = misused("name the question that is answered: acp-bridge questions lists them; or give the answers by the text of the question: '{\"Go on?\":\"Yes\"}'")
	}
	return err
}

// files are the questions of this folder.
type files struct{ store *pending.Store }

// fileQuestion is one that waits in a file.
type fileQuestion struct {
	store *pending.Store
	*pending.File
}

func (p files) list(context.Context) ([]openQuestion, error) {
	all, err := p.store.List()
	list := make([]openQuestion, len(all))
	for i, f := range all {
		list[i] = fileQuestion{p.store, f}
	}
	return list, err
}

// choose finds what a person named. That it is not there is their mistake.
func (p files) choose(_ context.Context, o questionsOptions, _ streams) (openQuestion, error) {
	f, err := p.store.Open(o.name)
	if err != nil {
		return nil, cli.Usage(err)
	}
	return fileQuestion{p.store, f}, nil
}

func (f fileQuestion) line() (string, []convert.Question) {
	if errors.Is(f.Err, pending.ErrDamaged) {
		return fmt.Sprintf("%-12s  %s", "?", clean.Line(f.Err.Error())), nil
	}
	return fmt.Sprintf("%-12s  %s  %s  %s", clean.Line(f.ID), asked(f.File), f.state(), clean.Line(f.Path)), f.Questions
}

func asked(f *pending.File) string {
	if f.Asked.IsZero() {
		return "at an unknown time"
	}
	return f.Asked.Local().Format(time.DateTime)
}

func (f fileQuestion) state() string {
	if f.Err != nil {
		return "cannot be used"
	}
	if f.Foreign != nil {
		return "answers not used"
	}
	if f.Cancelled {
		return "dismissed"
	}
	gone := ""
	if f.store.Lost(f.File) {
		gone = ", and " + askerGone
	}
	return fmt.Sprintf("%d of %d answered%s", len(f.Questions)-f.Left(), len(f.Questions), gone)
}

// askerGone is what a person is told of a question whose answer nobody would get.
const askerGone = "its asker is gone"

func (f fileQuestion) show(w io.Writer) error {
	if errors.Is(f.Err, pending.ErrDamaged) {
		return f.Err
	}
	fmt.Fprintf(w, "%s\n%s, asked %s", clean.Line(f.Path), clean.Line(f.ID), asked(f.File))
	if f.Session != "" {
		fmt.Fprintf(w, ", session %s", clean.Line(f.Session))
	}
	fmt.Fprintln(w)
	for i, q := range f.Questions {
		showQuestion(w, i+1, q)
		switch {
		case f.Cancelled: // its answers may not have been read
			fmt.Fprintln(w, "   Answer: dismissed")
		case f.Err == nil:
			fmt.Fprintf(w, "   Answer: %s\n", answerText(f.Answers[i]))
		}
	}
	return f.Err
}

func showQuestion(w io.Writer, n int, q convert.Question) {
	title := ""
	if q.Header != "" {
		title = clean.Line(q.Header) + ": "
	}
	text := strings.ReplaceAll(clean.Block(q.Text), "\n", "\n   ")
	several := ""
	if q.MultiSelect {
		several = " (several)"
	}
	fmt.Fprintf(w, "\n%d. %s%s%s\n", n, title, text, several)
	for i, o := range q.Options {
		fmt.Fprintf(w, "   %d. %s", i+1, clean.Line(o.Label))
		if o.Description != "" {
			fmt.Fprintf(w, " - %s", clean.Line(o.Description))
		}
		fmt.Fprintln(w)
	}
}

func answerText(a convert.Answer) string {
	if a.Empty() {
		return "none yet"
	}
	return clean.Line(convert.WithNote(convert.Join(a.Items()), a.Note))
}

func (f fileQuestion) answer(ctx context.Context, o questionsOptions, s streams) error {
	switch {
	case errors.Is(f.Err, pending.ErrDamaged):
		return cli.Usage(f.Err)
	case f.Foreign != nil:
		return usagef("%w", f.Foreign)
	case f.Settled():
		return fmt.Errorf("%s: %w; to answer differently, edit the file, or clear it and ask again", f.Path, f.SettledError())
	case f.store.Lost(f.File):
		return fmt.Errorf("%s: %s: nobody would receive the answer; acp-bridge questions clear %s removes it", clean.Line(f.Path), askerGone, f.ID)
	}
	did, not := "Answered", "not answered, and what was chosen does not count"
	answers, err := o.get(ctx, f.Call(), f.Call(), terminal.Resolver{}, s)
	switch {
	case errors.Is(err, convert.ErrCancelled): // the word cancel does the same in the file
		did, not = "Dismissed", "not dismissed"
		err = f.store.Dismiss(f.File, whoAmI())
	case err != nil:
		return err
	default:
		err = f.store.Answer(f.File, answers, whoAmI())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", not, err)
	}
	_, err = fmt.Fprintf(s.Out, "%s: %s. A command still waiting for it continues by itself; if it has exited, run it again.\n", did, clean.Line(f.Path))
	return err
}

// get gets answers from the command line or the terminal, where the call is drawn so. The error matches
// [convert.ErrCancelled] if the command line dismisses the questions. Who leaves
// the terminal without an answer leaves them waiting.
func (o *questionsOptions) get(ctx context.Context, c, drawn convert.Call, on terminal.Resolver, s streams) ([]convert.Answer, error) {
	data, given, err := o.answers.read(s)
	if err != nil {
		return nil, err
	}
	if given {
		outcome, err := o.answers.outcome(c, data, s.Err)
		if err == nil {
			err = outcome.Err()
		}
		return outcome.Answers, err
	}
	on.Plain = o.plain
	outcome, err := askOn(ctx, drawn, on, s)
	switch {
	case errors.Is(err, terminal.ErrNoTerminal):
		return nil, usagef("there is no terminal to ask on; use --answers, or write them into the file if there is one")
	case outcome.Status == convert.Cancelled || outcome.Status == convert.Declined:
		fmt.Fprintln(s.Err, "acp-bridge questions: not answered, still open; --answers '[\"cancel\"]' dismisses it")
		return nil, cli.Exit{Code: exitCancelled}
	case err != nil:
		return nil, err
	}
	return outcome.Answers, outcome.Err()
}

func (f fileQuestion) clear(_ context.Context, s streams) error {
	if err := f.store.Remove(f.File); err != nil {
		return err
	}
	_, err := fmt.Fprintf(s.Out, "Removed: %s\n", clean.Line(f.Path))
	return err
}

// shown is a file as --json shows it.
func (f fileQuestion) shown() hublink.Waiting {
	q := hublink.Waiting{
		Conversation: f.Session, Question: f.ID, Kind: "question", Agent: f.Agent, File: f.Path, Asked: f.Asked,
		Questions: hublink.WaitingQuestions(f.Questions, f.Answers), Settled: f.Err == nil && f.Settled(),
	}
	if err := errors.Join(f.Err, f.Foreign); err != nil {
		q.Problem = err.Error()
	} else if f.store.Lost(f.File) {
		q.Gone, q.Problem = true, askerGone
	}
	return q
}
