package main

import (
	"bytes"
	"context"
	"encoding/json"
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
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
)

// hubQuestion is a question that waits at a hub, as GET /questions has it.
type hubQuestion struct {
	Group        string    `json:"group"`
	Conversation string    `json:"conversation"`
	ID           string    `json:"question"`
	Kind         string    `json:"kind"`
	Title        string    `json:"title"`
	Agent        string    `json:"agent"`
	Branch       string    `json:"branch"`
	Machine      string    `json:"machine"`
	Dir          string    `json:"cwd"`
	Detail       string    `json:"detail"`
	Asked        time.Time `json:"asked"`
	State        struct {
		Revision  uint64 `json:"revision"`
		Gone      bool   `json:"asker_gone"`
		Questions []struct {
			Question, Header    string
			MultiSelect, Closed bool
			Options             []convert.Option
		} `json:"questions"`
	} `json:"state"`
}

// call is the question as it is asked here.
func (q *hubQuestion) call() convert.Call {
	c := convert.Call{Session: q.Conversation, ID: q.ID}
	for _, s := range q.State.Questions {
		c.Questions = append(c.Questions, convert.Question{
			Text: s.Question, Header: s.Header, MultiSelect: s.MultiSelect, Closed: s.Closed, Options: s.Options,
		})
	}
	return c
}

// from says who asks, where, since when, and whether it still waits.
func (q *hubQuestion) from() string {
	where := firstOf(q.Dir, "an unknown folder")
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
	return clean.Line(fmt.Sprintf("%s in %s, %s, %s", firstOf(q.Agent, "an agent"), where, ago(q.Asked, time.Now()), waits))
}

// atHub lists, shows or answers what waits at a hub.
func (o questionsOptions) atHub(ctx context.Context, s streams) error {
	switch o.action {
	case "list":
		if o.name != "" {
			return misused("unexpected argument %q; acp-bridge questions show %s shows one", o.name, o.name)
		}
	case "show", "answer", "clear":
	case "history", "forget":
		return o.atRecord(ctx, s)
	default:
		return o.unknown()
	}
	all, err := o.hub.questions(ctx)
	if err != nil {
		return err
	}
	if o.action == "list" {
		return listAtHub(all, o.json, s)
	}
	if o.action == "clear" && o.all {
		return o.clearAtHub(ctx, all, s)
	}
	q, err := o.choose(ctx, all, s)
	switch {
	case err != nil:
		return err
	case o.action == "show":
		return showAtHub(q, o.json, s)
	case o.action == "clear":
		return o.dismissAtHub(ctx, q, s)
	}
	return o.answerAtHub(ctx, q, s)
}

// questions are those that wait, the newest first.
func (h *hubFlags) questions(ctx context.Context) ([]*hubQuestion, error) {
	var reply struct{ Questions []*hubQuestion }
	path := "/questions"
	if h.group != "" {
		path += "?group=" + url.QueryEscape(h.group)
	}
	if err := h.call(ctx, http.MethodGet, path, nil, &reply); err != nil {
		return nil, err
	}
	return reply.Questions, nil
}

func listAtHub(all []*hubQuestion, asJSON bool, s streams) error {
	if asJSON {
		list := make([]waitingQuestion, len(all))
		for i, q := range all {
			list[i] = q.shown()
		}
		return printJSON(s, list)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(s.out, "No open questions.")
		return err
	}
	for _, q := range all {
		fmt.Fprintf(s.out, "%s  %s\n", clean.Line(q.ID), q.from())
		for _, sub := range q.State.Questions {
			fmt.Fprintf(s.out, "    %s\n", clean.Truncate(clean.Line(sub.Question), 74))
		}
	}
	return nil
}

func showAtHub(q *hubQuestion, asJSON bool, s streams) error {
	if asJSON {
		return printJSON(s, q.shown())
	}
	fmt.Fprintf(s.out, "%s  %s\n%s, conversation %s, asked %s\n", clean.Line(q.ID), q.from(),
		firstOf(clean.Line(q.Title), "Question"), clean.Line(q.Conversation), q.Asked.Local().Format(time.DateTime))
	if q.Detail != "" {
		fmt.Fprintln(s.out)
		showDetail(s.out, q.Detail)
	}
	for i, sub := range q.call().Questions {
		showQuestion(s.out, i+1, sub)
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
func (o questionsOptions) choose(ctx context.Context, all []*hubQuestion, s streams) (*hubQuestion, error) {
	var found []*hubQuestion
	for _, q := range all {
		if o.name == "" || o.name == q.ID || o.name == q.Conversation+"/"+q.ID {
			found = append(found, q)
		}
	}
	if len(found) == 0 {
		for _, q := range all {
			if abbreviates(strings.TrimPrefix(o.name, q.Conversation+"/"), q.ID) {
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
		names = append(names, q.Conversation+"/"+q.ID)
		text := ""
		if len(q.State.Questions) > 0 {
			text = clean.Truncate(clean.Line(q.State.Questions[0].Question), 60)
		}
		list.Options = append(list.Options, convert.Option{Label: strconv.Itoa(i+1) + ". " + text, Description: q.from()})
	}
	outcome, err := convert.Outcome{}, error(terminal.ErrNoTerminal)
	if !o.json && !o.answers.given && o.answers.file == "" {
		outcome, err = askTerminal(ctx, convert.Call{ID: "choose", Questions: []convert.Question{list}}, o.plain, s)
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
	return "/conversations/" + url.PathEscape(q.Conversation) + "/" + what + "?question=" + url.QueryEscape(q.ID) +
		"&revision=" + strconv.FormatUint(q.State.Revision, 10) + "&group=" + url.QueryEscape(firstOf(q.Group, "owner"))
}

// approved is what a person is asked: of a permission all that it is for.
func (q *hubQuestion) approved(c convert.Call) convert.Call {
	if q.Kind != "permission" || q.Detail == "" || len(c.Questions) == 0 {
		return c
	}
	c.Questions = slices.Clone(c.Questions)
	c.Questions[0].Text += "\n" + strings.Join(detailLines(q.Detail), "\n")
	return c
}

// dismissAtHub takes a question back in its asker's place.
func (o questionsOptions) dismissAtHub(ctx context.Context, q *hubQuestion, s streams) error {
	if err := o.hub.call(ctx, http.MethodPost, q.path("cancel"), nil, nil); err != nil {
		return fmt.Errorf("%s: not dismissed: %w", clean.Line(q.ID), err)
	}
	_, err := fmt.Fprintf(s.out, "Dismissed: %s\n", clean.Line(q.ID))
	return err
}

// clearAtHub dismisses everything that waits.
func (o questionsOptions) clearAtHub(ctx context.Context, all []*hubQuestion, s streams) error {
	if o.name != "" {
		return misused("--all dismisses every open question, not just %q", o.name)
	}
	var problems error
	for _, q := range all {
		problems = errors.Join(problems, o.dismissAtHub(ctx, q, s))
	}
	return problems
}

// answerAtHub answers a question as it was seen: if it has changed since, it is
// refused.
func (o questionsOptions) answerAtHub(ctx context.Context, q *hubQuestion, s streams) error {
	c := q.call()
	data, given, err := o.answers.read(s)
	if err != nil {
		return err
	}
	var outcome convert.Outcome
	if given {
		outcome, err = o.answers.outcome(c, data, s.err)
	} else {
		outcome, err = askOn(ctx, q.approved(c), terminal.Resolver{Plain: o.plain, Verbatim: q.Kind == "permission"}, s)
	}
	switch {
	case errors.Is(err, terminal.ErrNoTerminal):
		return usagef("there is no terminal to ask on; use --answers")
	case given && outcome.Status == convert.Cancelled:
		return o.dismissAtHub(ctx, q, s)
	case outcome.Status == convert.Cancelled, outcome.Status == convert.Declined:
		return cli.Exit{Code: exitCancelled}
	case err != nil:
		return err
	}
	type exact struct {
		Selected []string `json:"selected,omitempty"`
		Text     string   `json:"text,omitempty"`
		Note     string   `json:"note,omitempty"`
	}
	answers := make([]exact, len(outcome.Answers))
	for i, a := range outcome.Answers {
		answers[i] = exact{a.Selected, a.Text, a.Note}
	}
	if err := o.hub.call(ctx, http.MethodPost, q.path("respond"), map[string]any{"answers": answers}, nil); err != nil {
		return fmt.Errorf("not answered: %w", err)
	}
	_, err = fmt.Fprintf(s.out, "Answered: %s\n", clean.Line(q.ID))
	return err
}

// hubError is what a hub replied in place of what it was asked for.
type hubError struct {
	status int
	text   string
}

func (e hubError) Error() string { return e.text }

// hubTime bounds a request to a hub.
const hubTime = 20 * time.Second

// maxHubReply is more than any list of questions has.
const maxHubReply = 256 << 20

// call makes one request to the hub. Its error is what the hub said.
func (h *hubFlags) call(ctx context.Context, method, path string, body, into any) error {
	token, err := h.token()
	if err != nil {
		return cli.Usage(err)
	}
	ctx, cancel := context.WithTimeout(ctx, hubTime)
	defer cancel()
	var data []byte
	if body != nil {
		if data, err = json.Marshal(body); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, h.url.String()+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	base := http.DefaultTransport
	if !hublink.Named(h.tokenFile) {
		own := http.DefaultTransport.(*http.Transport).Clone()
		defer own.CloseIdleConnections()
		hublink.Prove(own, h.token)
		base = own
	}
	client := http.Client{Transport: hublink.Transport(base, h.all()), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	reply, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("the hub cannot be reached: %w", err)
	}
	defer reply.Body.Close()
	data, err = io.ReadAll(io.LimitReader(reply.Body, maxHubReply))
	if err != nil {
		return err
	}
	if reply.StatusCode != http.StatusOK {
		var said struct{ Error string }
		_ = json.Unmarshal(data, &said)
		return hubError{reply.StatusCode, firstOf(clean.Line(said.Error), "the hub replied with "+reply.Status)}
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(data, into)
}
