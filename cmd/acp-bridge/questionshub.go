package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/adapter/terminal"
	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/terminal/lineask"
)

// hubQuestion is a question that waits at a hub.
type hubQuestion struct{ *hublink.AtHub }

// from says who asks, where, since when, and whether it still waits.
func (q hubQuestion) from() string {
	where := cmp.Or(q.Cwd, "an unknown folder")
	if q.Branch != "" {
		where += " (" + q.Branch + ")"
	}
	if q.Machine != "" {
		where += " on " + q.Machine
	}
	waits := "the agent waits"
	if q.State.Gone {
		waits = "the agent is gone, but may come back"
	}
	return clean.Line(fmt.Sprintf("%s in %s, %s, %s", cmp.Or(q.Agent, "an agent"), where, lineask.Ago(q.Asked, time.Now()), waits))
}

// list has those that wait, the newest first.
func (h *hubFlags) list(ctx context.Context) (list []openQuestion, err error) {
	all, err := h.Waiting(ctx)
	for _, q := range all {
		list = append(list, hubQuestion{q})
	}
	return list, err
}

func (q hubQuestion) line() (string, []convert.Question) {
	return fmt.Sprintf("%s  %s", clean.Line(q.Question), q.from()), q.Call().Questions
}

func (q hubQuestion) show(w io.Writer) error {
	fmt.Fprintf(w, "%s  %s\n%s, conversation %s, asked %s\n", clean.Line(q.Question), q.from(),
		cmp.Or(clean.Line(q.Title), "Question"), clean.Line(q.Conversation), q.Asked.Local().Format(time.DateTime))
	if text := q.Approves(); text != "" {
		fmt.Fprintf(w, "\n   %s\n", strings.ReplaceAll(text, "\n", "\n   "))
	}
	for i, sub := range q.Call().Questions {
		showQuestion(w, i+1, sub)
	}
	return nil
}

// choose finds the question that was named: by its id, or by how a long one begins.
// Without a name it is the only one that waits, or the one that a person
// picks.
func (h *hubFlags) choose(ctx context.Context, o questionsOptions, s streams) (openQuestion, error) {
	all, err := h.Waiting(ctx)
	if err != nil {
		return nil, err
	}
	found := hublink.FindWaiting(all, o.name)
	switch {
	case len(found) == 1:
		return hubQuestion{found[0]}, nil
	case len(found) == 0 && o.name == "":
		return nil, usagef("no open questions")
	case len(found) == 0:
		return nil, usagef("no open question %q; acp-bridge questions --hub URL lists them", o.name)
	}
	list := convert.Question{Header: "Questions", Text: "Which one?", Closed: true}
	var names []string
	for i, q := range found {
		names = append(names, q.Conversation+"/"+q.Question)
		text := ""
		if len(q.State.Questions) > 0 {
			text = clean.Truncate(clean.Line(q.State.Questions[0].Question), 60)
		}
		list.Options = append(list.Options, convert.Option{Label: strconv.Itoa(i+1) + ". " + text, Description: hubQuestion{q}.from()})
	}
	outcome, err := convert.Outcome{}, error(terminal.ErrNoTerminal)
	if !o.json && !o.answers.given && o.answers.file == "" {
		outcome, err = askOn(ctx, convert.Call{ID: "choose", Questions: []convert.Question{list}}, terminal.Resolver{Plain: o.plain}, s)
	}
	switch {
	case errors.Is(err, terminal.ErrNoTerminal):
		return nil, usagef("several questions are open: name one of %s", clean.Line(strings.Join(names, ", ")))
	case outcome.Status != convert.Answered:
		return nil, cli.Exit{Code: exitCancelled}
	}
	for i, opt := range list.Options {
		if len(outcome.Answers[0].Selected) == 1 && outcome.Answers[0].Selected[0] == opt.Label {
			return hubQuestion{found[i]}, nil
		}
	}
	return nil, cli.Exit{Code: exitCancelled}
}

// approved is what a person is asked: of a permission all that it is for.
func (q hubQuestion) approved(c convert.Call) convert.Call {
	if text := q.Approves(); q.Kind == "permission" && text != "" && len(c.Questions) > 0 {
		c.Questions = slices.Clone(c.Questions)
		c.Questions[0].Text += "\n" + text
	}
	return c
}

func (q hubQuestion) clear(ctx context.Context, s streams) error {
	if err := q.Dismiss(ctx); err != nil {
		return fmt.Errorf("%s: not dismissed: %w", clean.Line(q.Question), err)
	}
	_, err := fmt.Fprintf(s.Out, "Dismissed: %s\n", clean.Line(q.Question))
	return err
}

// answer answers a question as it was seen: if it has changed since, it is refused.
func (q hubQuestion) answer(ctx context.Context, o questionsOptions, s streams) error {
	c := q.Call()
	for i := range c.Questions { // words beside a no are its reason, which the hub judges
		c.Questions[i].Closed = c.Questions[i].Closed && q.Kind != "permission"
	}
	given, err := o.get(ctx, c, q.approved(q.Call()), terminal.Resolver{Verbatim: q.Kind == "permission"}, s)
	switch {
	case errors.Is(err, convert.ErrCancelled):
		return q.clear(ctx, s)
	case err != nil:
		return err
	}
	if err := q.Answer(ctx, given); err != nil {
		return fmt.Errorf("not answered, and what was chosen does not count: %w", err)
	}
	_, err = fmt.Fprintf(s.Out, "Answered: %s\n", clean.Line(q.Question))
	return err
}

// shown is a question of a hub as --json shows it.
func (q hubQuestion) shown() hublink.Waiting {
	shown := q.Waiting
	shown.Questions, shown.Gone = hublink.WaitingQuestions(q.Call().Questions, nil), q.State.Gone
	return shown
}
