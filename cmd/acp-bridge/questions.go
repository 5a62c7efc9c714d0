package main

import (
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
	fs.StringVar(&o.hub.address, "hub", "", "`URL` of an acp-bridge-hub: use its questions instead of those in files")
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
		if ofRecord(o.action) {
			o.hub.atLocalHub()
		}
		if err := o.hub.check(0); err != nil {
			return err
		}
		if o.hub.url != nil {
			return o.atHub(ctx, s)
		}
		return o.run(ctx, s)
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

func (o questionsOptions) run(ctx context.Context, s streams) error {
	store := &pending.Store{}
	switch o.action {
	case "list":
		if o.name != "" {
			return misused("unexpected argument %q; acp-bridge questions show %s shows one", o.name, o.name)
		}
		if o.json {
			return listJSON(store, s)
		}
		return listQuestions(store, s)
	case "show":
		if o.json {
			return showJSON(store, o.name, s)
		}
		return showQuestions(store, o.name, s)
	case "answer":
		return answerQuestions(ctx, store, o, s)
	case "clear":
		return clearQuestions(store, o, s)
	}
	return o.unknown()
}

func (o questionsOptions) unknown() error {
	return misused("unknown action %q: expected list, show, answer, clear, history or forget%s", o.action, didYouMean(o.action, questionsActions))
}

// openQuestions finds what a person named. That it is not there is their
// mistake.
func openQuestions(store *pending.Store, name string) (*pending.File, error) {
	f, err := store.Open(name)
	if err != nil {
		return nil, cli.Usage(err)
	}
	return f, nil
}

func listQuestions(store *pending.Store, s streams) error {
	all, err := store.List()
	if err != nil {
		return err
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(s.out, "No open questions.")
		return err
	}
	for _, f := range all {
		if errors.Is(f.Err, pending.ErrDamaged) {
			fmt.Fprintf(s.out, "%-12s  %s\n", "?", clean.Line(f.Err.Error()))
			continue
		}
		fmt.Fprintf(s.out, "%-12s  %s  %s  %s\n", clean.Line(f.ID), asked(f), state(store, f), clean.Line(f.Path))
		for _, q := range f.Questions {
			fmt.Fprintf(s.out, "    %s\n", clean.Truncate(clean.Line(q.Text), 74))
		}
	}
	return nil
}

func asked(f *pending.File) string {
	if f.Asked.IsZero() {
		return "at an unknown time"
	}
	return f.Asked.Local().Format(time.DateTime)
}

func state(store *pending.Store, f *pending.File) string {
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
	if store.Lost(f) {
		gone = ", and " + askerGone
	}
	return fmt.Sprintf("%d of %d answered%s", len(f.Questions)-f.Left(), len(f.Questions), gone)
}

// askerGone is what a person is told of a question whose answer nobody would get.
const askerGone = "its asker is gone"

func listJSON(store *pending.Store, s streams) error {
	all, err := store.List()
	if err != nil {
		return err
	}
	list := make([]waitingQuestion, len(all))
	for i, f := range all {
		list[i] = inFile(store, f)
	}
	return printJSON(s, list)
}

func showJSON(store *pending.Store, name string, s streams) error {
	f, err := openQuestions(store, name)
	if err != nil {
		return err
	}
	return printJSON(s, inFile(store, f))
}

func showQuestions(store *pending.Store, name string, s streams) error {
	f, err := openQuestions(store, name)
	if err != nil {
		return err
	}
	if errors.Is(f.Err, pending.ErrDamaged) {
		return f.Err
	}
	fmt.Fprintf(s.out, "%s\n%s, asked %s", clean.Line(f.Path), clean.Line(f.ID), asked(f))
	if f.Session != "" {
		fmt.Fprintf(s.out, ", session %s", clean.Line(f.Session))
	}
	fmt.Fprintln(s.out)
	for i, q := range f.Questions {
		showQuestion(s.out, i+1, q)
		switch {
		case f.Cancelled: // its answers may not have been read
			fmt.Fprintln(s.out, "   Answer: dismissed")
		case f.Err == nil:
			fmt.Fprintf(s.out, "   Answer: %s\n", answerText(f.Answers[i]))
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

func answerQuestions(ctx context.Context, store *pending.Store, o questionsOptions, s streams) error {
	f, err := openQuestions(store, o.name)
	if err != nil {
		return err
	}
	if errors.Is(f.Err, pending.ErrDamaged) {
		return cli.Usage(f.Err)
	}
	if f.Foreign != nil {
		return usagef("%w", f.Foreign)
	}
	if f.Settled() {
		return fmt.Errorf("%s: %w; to answer differently, edit the file, or clear it and ask again", f.Path, f.SettledError())
	}
	if store.Lost(f) {
		return fmt.Errorf("%s: %s: nobody would receive the answer; acp-bridge questions clear %s removes it", clean.Line(f.Path), askerGone, f.ID)
	}
	answers, err := o.get(ctx, f.Call(), s)
	if errors.Is(err, convert.ErrCancelled) {
		return dismiss(store, f, s)
	}
	if err != nil {
		return err
	}
	if err := store.Answer(f, answers, whoAmI()); err != nil {
		return fmt.Errorf("not answered: %w", err)
	}
	_, err = fmt.Fprintf(s.out, "Answered: %s. A command still waiting for it continues by itself; if it has exited, run it again.\n", clean.Line(f.Path))
	return err
}

// dismiss is what the word cancel does, here as in the file.
func dismiss(store *pending.Store, f *pending.File, s streams) error {
	if err := store.Dismiss(f, whoAmI()); err != nil {
		return fmt.Errorf("not dismissed: %w", err)
	}
	_, err := fmt.Fprintf(s.out, "Dismissed: %s. A command still waiting for it continues by itself; if it has exited, run it again.\n", clean.Line(f.Path))
	return err
}

// get gets answers from the command line or the terminal. The error matches
// [convert.ErrCancelled] if the command line dismisses the questions. Who leaves
// the terminal without an answer leaves them waiting.
func (o *questionsOptions) get(ctx context.Context, c convert.Call, s streams) ([]convert.Answer, error) {
	data, given, err := o.answers.read(s)
	if err != nil {
		return nil, err
	}
	if given {
		outcome, err := o.answers.outcome(c, data, s.err)
		if err == nil {
			err = outcome.Err()
		}
		return outcome.Answers, err
	}
	outcome, err := askTerminal(ctx, c, o.plain, s)
	switch {
	case errors.Is(err, terminal.ErrNoTerminal):
		return nil, usagef("there is no terminal to ask on; write the answers into the file, or use --answers")
	case outcome.Status == convert.Cancelled || outcome.Status == convert.Declined:
		fmt.Fprintln(s.err, "acp-bridge questions: not answered, still open; --answers '[\"cancel\"]' dismisses it")
		return nil, cli.Exit{Code: exitCancelled}
	case outcome.Status != convert.Answered:
		return nil, outcome.Err()
	}
	return outcome.Answers, nil
}

func clearQuestions(store *pending.Store, o questionsOptions, s streams) error {
	if !o.all {
		f, err := openQuestions(store, o.name)
		if err != nil {
			return err
		}
		return clearOne(store, f, s)
	}
	if o.name != "" {
		return misused("--all removes every file, not just %q", o.name)
	}
	all, err := store.List()
	if err != nil {
		return err
	}
	for _, f := range all {
		err = errors.Join(err, clearOne(store, f, s))
	}
	return err
}

func clearOne(store *pending.Store, f *pending.File, s streams) error {
	if err := store.Remove(f); err != nil {
		return err
	}
	_, err := fmt.Fprintf(s.out, "Removed: %s\n", clean.Line(f.Path))
	return err
}
