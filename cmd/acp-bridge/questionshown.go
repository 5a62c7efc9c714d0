package main

import (
	"errors"
	"time"

	"github.com/acp-bridge/acp-bridge/convert"
)

// waitingQuestion is what waits as --json shows it, in a file or at a hub. The keys
// are those of GET /history.
type waitingQuestion struct {
	Group        string          `json:"group,omitempty"`
	Conversation string          `json:"conversation,omitempty"`
	Question     string          `json:"question"`
	Kind         string          `json:"kind"`
	Title        string          `json:"title,omitempty"`
	Agent        string          `json:"agent,omitempty"`
	Machine      string          `json:"machine,omitempty"`
	Cwd          string          `json:"cwd,omitempty"`
	Branch       string          `json:"branch,omitempty"`
	Detail       string          `json:"detail,omitempty"`
	Shown        string          `json:"shown,omitempty"`
	File         string          `json:"file,omitempty"`
	Asked        time.Time       `json:"asked,omitzero"`
	Questions    []shownQuestion `json:"questions"`
	Settled      bool            `json:"settled"`
	Gone         bool            `json:"asker_gone"`
	Problem      string          `json:"problem,omitempty"`
}

type shownQuestion struct {
	Question    string        `json:"question"`
	Header      string        `json:"header,omitempty"`
	Options     []shownOption `json:"options"`
	MultiSelect bool          `json:"multiSelect"`
	Closed      bool          `json:"closed,omitempty"`
	Answer      *shownAnswer  `json:"answer,omitempty"`
}

type shownOption struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
	Preview     string `json:"preview,omitempty"`
}

type shownAnswer struct {
	Selected []string `json:"selected,omitempty"`
	Text     string   `json:"text,omitempty"`
	Note     string   `json:"note,omitempty"`
}

func shownQuestions(questions []convert.Question, answers []convert.Answer) []shownQuestion {
	list := make([]shownQuestion, len(questions))
	for i, q := range questions {
		list[i] = shownQuestion{Question: q.Text, Header: q.Header, MultiSelect: q.MultiSelect, Closed: q.Closed, Options: []shownOption{}}
		for _, o := range q.Options {
			list[i].Options = append(list[i].Options, shownOption{o.Label, o.Description, o.Preview})
		}
		if i < len(answers) && !answers[i].Empty() {
			list[i].Answer = &shownAnswer{answers[i].Selected, answers[i].Text, answers[i].Note}
		}
	}
	return list
}

// shown is a file as --json shows it.
func (f fileQuestion) shown() waitingQuestion {
	q := waitingQuestion{
		Conversation: f.Session, Question: f.ID, Kind: "question", Agent: f.Agent, File: f.Path, Asked: f.Asked,
		Questions: shownQuestions(f.Questions, f.Answers), Settled: f.Err == nil && f.Settled(),
	}
	if err := errors.Join(f.Err, f.Foreign); err != nil {
		q.Problem = err.Error()
	} else if f.store.Lost(f.File) {
		q.Gone, q.Problem = true, askerGone
	}
	return q
}

// shown is a question of a hub as --json shows it.
func (q *hubQuestion) shown() waitingQuestion {
	shown := q.waitingQuestion
	shown.Questions, shown.Gone = shownQuestions(q.call().Questions, nil), q.State.Gone
	return shown
}
