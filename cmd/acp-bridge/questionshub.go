package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/adapter/terminal"
	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/terminal/lineask"
)

// hubQuestion is a question that waits at a hub, as GET /questions has it.
type hubQuestion struct {
	hub *hubFlags
	waitingQuestion
	State struct {
		Revision  uint64          `json:"revision"`
		Gone      bool            `json:"asker_gone"`
		Questions []shownQuestion `json:"questions"`
	} `json:"state"`
}

// call is the question as it is asked here.
func (q *hubQuestion) call() convert.Call {
	c := convert.Call{Session: q.Conversation, ID: q.Question}
	for _, s := range q.State.Questions {
		sub := convert.Question{Text: s.Question, Header: s.Header, MultiSelect: s.MultiSelect, Closed: s.Closed}
		for _, o := range s.Options {
			sub.Options = append(sub.Options, convert.Option{Label: o.Label, Description: o.Description, Preview: o.Preview})
		}
		c.Questions = append(c.Questions, sub)
	}
	return c
}

// from says who asks, where, since when, and whether it still waits.
func (q *hubQuestion) from() string {
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
	all, err := h.questions(ctx)
	for _, q := range all {
		list = append(list, q)
	}
	return list, err
}

func (h *hubFlags) questions(ctx context.Context) ([]*hubQuestion, error) {
	var reply struct{ Questions []*hubQuestion }
	path := "/questions"
	if h.Group != "" {
		path += "?group=" + url.QueryEscape(h.Group)
	}
	err := h.call(ctx, http.MethodGet, path, nil, &reply)
	for _, q := range reply.Questions {
		q.hub = h
	}
	return reply.Questions, err
}

func (q *hubQuestion) line() (string, []convert.Question) {
	return fmt.Sprintf("%s  %s", clean.Line(q.Question), q.from()), q.call().Questions
}

func (q *hubQuestion) show(w io.Writer) error {
	fmt.Fprintf(w, "%s  %s\n%s, conversation %s, asked %s\n", clean.Line(q.Question), q.from(),
		cmp.Or(clean.Line(q.Title), "Question"), clean.Line(q.Conversation), q.Asked.Local().Format(time.DateTime))
	if text := q.approves(); text != "" {
		fmt.Fprintf(w, "\n   %s\n", strings.ReplaceAll(text, "\n", "\n   "))
	}
	for i, sub := range q.call().Questions {
		showQuestion(w, i+1, sub)
	}
	return nil
}

// abbreviates reports whether a name is how a long id begins, as a person types it.
// A short one may be the id of another question, which was answered a moment ago.
func abbreviates(name, id string) bool {
	const least, left = 8, 4
	return len(name) >= least && len(id)-len(name) >= left && strings.HasPrefix(id, name)
}

// choose finds the question that was named: by its id, or by how a long one begins.
// Without a name it is the only one that waits, or the one that a person
// picks.
func (h *hubFlags) choose(ctx context.Context, o questionsOptions, s streams) (openQuestion, error) {
	all, err := h.questions(ctx)
	if err != nil {
		return nil, err
	}
	var found []*hubQuestion
	for _, q := range all {
		if o.name == "" || o.name == q.Question || o.name == q.Conversation+"/"+q.Question {
			found = append(found, q)
		}
	}
	if len(found) == 0 {
		for _, q := range all {
			if abbreviates(strings.TrimPrefix(o.name, q.Conversation+"/"), q.Question) {
				found = append(found, q)
			}
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
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
		list.Options = append(list.Options, convert.Option{Label: strconv.Itoa(i+1) + ". " + text, Description: q.from()})
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
			return found[i], nil
		}
	}
	return nil, cli.Exit{Code: exitCancelled}
}

// path is where the question is answered, as it was seen.
func (q *hubQuestion) path(what string) string {
	return "/conversations/" + url.PathEscape(q.Conversation) + "/" + what + "?question=" + url.QueryEscape(q.Question) +
		"&revision=" + strconv.FormatUint(q.State.Revision, 10) + "&group=" + url.QueryEscape(cmp.Or(q.Group, "owner"))
}

// approves is all that a permission is for, as the hub shows it, or the tool's input if the
// hub is too old to.
func (q *hubQuestion) approves() string { return clean.Visible(cmp.Or(q.Shown, q.Detail)) }

// approved is what a person is asked: of a permission all that it is for.
func (q *hubQuestion) approved(c convert.Call) convert.Call {
	if text := q.approves(); q.Kind == "permission" && text != "" && len(c.Questions) > 0 {
		c.Questions = slices.Clone(c.Questions)
		c.Questions[0].Text += "\n" + text
	}
	return c
}

func (q *hubQuestion) clear(ctx context.Context, s streams) error {
	if err := q.hub.call(ctx, http.MethodPost, q.path("cancel"), nil, nil); err != nil {
		return fmt.Errorf("%s: not dismissed: %w", clean.Line(q.Question), err)
	}
	_, err := fmt.Fprintf(s.Out, "Dismissed: %s\n", clean.Line(q.Question))
	return err
}

// answer answers a question as it was seen: if it has changed since, it is refused.
func (q *hubQuestion) answer(ctx context.Context, o questionsOptions, s streams) error {
	c := q.call()
	for i := range c.Questions { // words beside a no are its reason, which the hub judges
		c.Questions[i].Closed = c.Questions[i].Closed && q.Kind != "permission"
	}
	given, err := o.get(ctx, c, q.approved(q.call()), terminal.Resolver{Verbatim: q.Kind == "permission"}, s)
	switch {
	case errors.Is(err, convert.ErrCancelled):
		return q.clear(ctx, s)
	case err != nil:
		return err
	}
	answers := make([]shownAnswer, len(given))
	for i, a := range given {
		answers[i] = shownAnswer{a.Selected, a.Text, a.Note}
	}
	if err := q.hub.call(ctx, http.MethodPost, q.path("respond"), map[string]any{"answers": answers}, nil); err != nil {
		return fmt.Errorf("not answered, and what was chosen does not count: %w", err)
	}
	_, err = fmt.Fprintf(s.Out, "Answered: %s\n", clean.Line(q.Question))
	return err
}
