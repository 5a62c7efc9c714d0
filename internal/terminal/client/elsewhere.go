package client

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// post puts a request on the desk, too, until it is answered here or there.
func (l *link) post(a *waiting) {
	for again := true; again; {
		again = l.postOnce(a)
	}
}

// postOnce is post for a request as it is now. It reports whether that is another one
// by now.
func (l *link) postOnce(a *waiting) (again bool) {
	d := l.told.described(a)
	if !d.elsewhere {
		select {
		case <-d.over:
			return true
		case <-a.ctx.Done():
			return false
		}
	}
	ticket, err := l.desk.Post(a.ctx, d.Item)
	if err != nil {
		return false // it is asked here
	}
	defer ticket.Leave()
	gone := convert.Outcome{Status: convert.Disconnected, Reason: convert.GoneMessage}
	select {
	case o := <-a.ended:
		ticket.Settle(o, "the terminal")
		return false
	case <-d.over:
		gone.Reason, again = "The agent shows something else by now", true
	case <-ticket.Context().Done():
	}
	o, first := ticket.Settle(gone, "")
	if first || a.settle(o, picked(a.request, o), errElsewhere) != nil {
		return again
	}
	l.box.put(withdrawn{a})
	return false
}

// errAnother is why a request is put to people anew.
var errAnother = fmt.Errorf("the agent shows something else by now: %w", adapter.ErrWithdrawn)

// errElsewhere is why a question needs no answer here.
var errElsewhere = errors.New("answered elsewhere")

// gone says why a question needs no answer any more, in a sentence.
func (l *link) gone(a *waiting) string {
	text := clean.Truncate(clean.Line(l.told.described(a).here.Questions[0].Text), 100)
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
