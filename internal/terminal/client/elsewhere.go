package client

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// post puts a request on the desk, too, until it is answered here or there.
func (l *link) post(a *waiting) {
	item := desk.Item{Kind: desk.Question, Call: a.call, Agent: l.agent, Dir: l.dir}
	if a.closed {
		item.Call.Questions = slices.Clone(a.call.Questions)
		item.Call.Questions[0].Closed = true
	}
	if a.approval != nil {
		item.Kind = desk.Permission
	}
	item.Check = func(answers []convert.Answer) error {
		_, err := a.reply(convert.Outcome{Status: convert.Answered, Answers: answers}, -1)
		return err
	}
	ticket, err := l.desk.Post(a.ctx, item)
	if err != nil {
		return // it is asked here
	}
	defer ticket.Leave()
	select {
	case o := <-a.ended:
		ticket.Settle(o, "the terminal")
	case <-ticket.Context().Done():
		gone := convert.Outcome{Status: convert.Disconnected, Reason: convert.GoneMessage}
		o, first := ticket.Settle(gone, "")
		if first || a.settle(o, picked(a.request, o), errElsewhere) != nil {
			return
		}
		l.box.put(withdrawn{a})
	}
}

// errElsewhere is why a question needs no answer here.
var errElsewhere = errors.New("answered elsewhere")

// gone says why a question needs no answer any more, in a sentence.
func (a *waiting) gone() string {
	text := clean.Truncate(clean.Line(a.call.Questions[0].Text), 100)
	switch {
	case !errors.Is(context.Cause(a.ctx), errElsewhere):
		return "The agent withdrew its question: " + text
	case a.there.Status != convert.Answered:
		return "Dismissed elsewhere: " + text
	}
	said := make([]string, len(a.there.Answers))
	for i, answer := range a.there.Answers {
		said[i] = clean.Truncate(clean.Line(convert.WithNote(convert.Join(answer.Items()), answer.Note)), 100)
	}
	return "Answered elsewhere: " + strings.Join(said, "; ")
}
