package client

import (
	"context"
	"errors"
	"slices"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
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

// gone says why a question needs no answer any more.
func (a *waiting) gone() string {
	if errors.Is(context.Cause(a.ctx), errElsewhere) {
		return "This was answered elsewhere"
	}
	return "The agent withdrew its question"
}
