package hublink

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Waiting is a question that waits, in a file or at a hub. The keys are those of GET /history.
type Waiting struct {
	Group        string            `json:"group,omitempty"`
	Conversation string            `json:"conversation,omitempty"`
	Question     string            `json:"question"`
	Kind         string            `json:"kind"`
	Title        string            `json:"title,omitempty"`
	Agent        string            `json:"agent,omitempty"`
	Machine      string            `json:"machine,omitempty"`
	Cwd          string            `json:"cwd,omitempty"`
	Branch       string            `json:"branch,omitempty"`
	Detail       string            `json:"detail,omitempty"`
	Shown        string            `json:"shown,omitempty"`
	File         string            `json:"file,omitempty"`
	Asked        time.Time         `json:"asked,omitzero"`
	Questions    []WaitingQuestion `json:"questions"`
	Settled      bool              `json:"settled"`
	Gone         bool              `json:"asker_gone"`
	Problem      string            `json:"problem,omitempty"`
}

// WaitingQuestion is one of its questions.
type WaitingQuestion struct {
	Question    string          `json:"question"`
	Header      string          `json:"header,omitempty"`
	Options     []WaitingOption `json:"options"`
	MultiSelect bool            `json:"multiSelect"`
	Closed      bool            `json:"closed,omitempty"`
	Answer      *WaitingAnswer  `json:"answer,omitempty"`
}

// WaitingOption is an option of one.
type WaitingOption struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
	Preview     string `json:"preview,omitempty"`
}

// WaitingAnswer is an answer to one.
type WaitingAnswer struct {
	Selected []string `json:"selected,omitempty"`
	Text     string   `json:"text,omitempty"`
	Note     string   `json:"note,omitempty"`
}

// WaitingQuestions are questions with the answers that they have.
func WaitingQuestions(questions []convert.Question, answers []convert.Answer) []WaitingQuestion {
	list := make([]WaitingQuestion, len(questions))
	for i, q := range questions {
		list[i] = WaitingQuestion{Question: q.Text, Header: q.Header, MultiSelect: q.MultiSelect, Closed: q.Closed, Options: []WaitingOption{}}
		for _, o := range q.Options {
			list[i].Options = append(list[i].Options, WaitingOption{o.Label, o.Description, o.Preview})
		}
		if i < len(answers) && !answers[i].Empty() {
			list[i].Answer = &WaitingAnswer{answers[i].Selected, answers[i].Text, answers[i].Note}
		}
	}
	return list
}

// AtHub is a question that waits at a hub, as GET /questions has it.
type AtHub struct {
	Waiting
	State struct {
		Revision  uint64            `json:"revision"`
		Gone      bool              `json:"asker_gone"`
		Questions []WaitingQuestion `json:"questions"`
	} `json:"state"`
	hub *Named
}

// Waiting are the questions that wait there, the newest first.
func (n *Named) Waiting(ctx context.Context) ([]*AtHub, error) {
	var reply struct{ Questions []*AtHub }
	err := n.Call(ctx, http.MethodGet, n.path("/questions", url.Values{}), nil, &reply)
	for _, q := range reply.Questions {
		q.hub = n
	}
	return reply.Questions, err
}

// Call is the question as it is asked here.
func (q *AtHub) Call() convert.Call {
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

// Approves is all that a permission is for, as the hub shows it, or the tool's input if the
// hub is too old to.
func (q *AtHub) Approves() string { return clean.Visible(cmp.Or(q.Shown, q.Detail)) }

// FindWaiting are those of some questions that a person has named: by their id, or by how a long one
// begins. Without a name it is all of them.
func FindWaiting(all []*AtHub, name string) (found []*AtHub) {
	for _, q := range all {
		if name == "" || name == q.Question || name == q.Conversation+"/"+q.Question {
			found = append(found, q)
		}
	}
	if len(found) == 0 {
		for _, q := range all {
			if abbreviates(strings.TrimPrefix(name, q.Conversation+"/"), q.Question) {
				found = append(found, q)
			}
		}
	}
	return found
}

// abbreviates reports whether a name is how a long id begins, as a person types it.
// A short one may be the id of another question, which was answered a moment ago.
func abbreviates(name, id string) bool {
	const least, left = 8, 4
	return len(name) >= least && len(id)-len(name) >= left && strings.HasPrefix(id, name)
}

// Dismiss dismisses the question, as it was seen.
func (q *AtHub) Dismiss(ctx context.Context) error { return q.reply(ctx, "cancel", nil) }

// Answer answers the question as it was seen: if it has changed since, it is refused.
func (q *AtHub) Answer(ctx context.Context, given []convert.Answer) error {
	answers := make([]WaitingAnswer, len(given))
	for i, a := range given {
		answers[i] = WaitingAnswer{a.Selected, a.Text, a.Note}
	}
	return q.reply(ctx, "respond", map[string]any{"answers": answers})
}

func (q *AtHub) reply(ctx context.Context, what string, body any) error {
	path := "/conversations/" + url.PathEscape(q.Conversation) + "/" + what + "?question=" + url.QueryEscape(q.Question) +
		"&revision=" + strconv.FormatUint(q.State.Revision, 10) + "&group=" + url.QueryEscape(cmp.Or(q.Group, "owner"))
	return q.hub.Call(ctx, http.MethodPost, path, body, nil)
}

// path is one with a query, and with the group.
func (n *Named) path(path string, query url.Values) string {
	if n.Group != "" {
		query.Set("group", n.Group)
	}
	return path + "?" + query.Encode()
}

// Settled is a question that was settled, as GET /history has it.
type Settled struct {
	At          time.Time
	Seconds     float64
	Outcome, By string
	Elsewhere   bool // By is the agent's word
	Questions   []struct {
		Question string
		Answer   *convert.Answer
	}
}

// History calls each for what was settled at the hub, the last settled first.
func (n *Named) History(ctx context.Context, query url.Values, each func(settled json.RawMessage) error) error {
	query.Set("limit", "1000")
	for {
		var page struct {
			History []json.RawMessage
			Next    string
		}
		if err := n.Call(ctx, http.MethodGet, n.path("/history", query), nil, &page); err != nil {
			return err
		}
		for _, settled := range page.History {
			if err := each(settled); err != nil {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		query.Set("after", page.Next)
	}
}

// Forgotten says how many answers were removed from the history, and how many are left: they
// are still on the way to an agent.
type Forgotten struct {
	Forgotten int `json:"forgotten"`
	Left      int `json:"left"`
}

// Forget removes what one person said from the history.
func (n *Named) Forget(ctx context.Context, by string) (done Forgotten, err error) {
	err = n.Call(ctx, http.MethodDelete, n.path("/history", url.Values{"by": {by}}), nil, &done)
	return done, err
}
