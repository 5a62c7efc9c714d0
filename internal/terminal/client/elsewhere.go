package client

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/conn"
	"github.com/acp-bridge/acp-bridge/internal/life"
)

// decide waits until a request has its reply: from the user, or from somebody at the
// desk. Who was first there has answered, also if the user has said something.
func (l *link) decide(a *waiting) (reply any, err error) {
	for again := true; again; {
		reply, again, err = l.decideOnce(a)
	}
	return reply, err
}

// decideOnce is decide for a request as it is now. It reports whether that is still open,
// as another one.
func (l *link) decideOnce(a *waiting) (reply any, again bool, err error) {
	d := l.told.described(a)
	ticket := l.post(a, d)
	elsewhere := a.ctx.Done()
	if ticket != nil {
		defer ticket.Leave()
		elsewhere = ticket.Context().Done()
	}
	var here answered
	spoke := true
	select {
	case here = <-a.said:
	case <-d.over:
		spoke, here.outcome = false, convert.Outcome{Status: convert.Failed, Reason: "The agent shows something else by now"}
	case <-elsewhere:
		select {
		case here = <-a.said: // before it was given up
		default:
			spoke, here.outcome = false, a.givenUp()
		}
	}
	if ticket != nil {
		by := ""
		if spoke && here.err == nil {
			by = "the terminal"
		}
		stands, first := ticket.Settle(here.outcome, by)
		there, err := a.reply(stands, picked(a.request, stands))
		switch {
		case first || err != nil:
		case a.ctx.Err() == nil:
			a.there, a.name = stands, ticket.Item().Name
			a.cancel(errElsewhere)
			l.box.Put(withdrawn{a})
			return there, false, nil
		default: // the agent has given it up before
			if spoke = false; a.permission { // a question may be asked again
				l.desk.Receipt(ticket.Item().Name, errGivenUp)
			}
		}
	}
	if !spoke && a.ctx.Err() != nil {
		l.box.Put(withdrawn{a})
		return nil, false, a.ctx.Err()
	}
	return here.reply, !spoke, here.err
}

// post puts a request on the desk, if it is for people elsewhere, too.
func (l *link) post(a *waiting, d description) *desk.Ticket {
	if l.desk == nil || !d.elsewhere {
		return nil
	}
	return l.desk.Post(a.ctx, d.Item)
}

// givenUp is the end of a request that nobody has answered. A question whose agent is
// gone is left: it is asked again when the session goes on.
func (a *waiting) givenUp() convert.Outcome {
	var there life.Elsewhere
	switch gone := errors.Is(context.Cause(a.ctx), conn.ErrClosed); {
	case errors.As(context.Cause(a.ctx), &there):
		return convert.Outcome{Status: convert.Failed, Reason: "It was " + there.Error()}
	case !gone:
		return convert.Outcome{Status: convert.Failed, Reason: "The agent took it back"}
	case a.permission:
		return convert.Outcome{Status: convert.Failed, Reason: convert.GoneMessage}
	}
	return convert.Outcome{Status: convert.Disconnected, Reason: convert.GoneMessage}
}

// errGivenUp is why an answer from elsewhere reaches nobody.
var errGivenUp = errors.New("the agent had taken it back, or has ended")

// errAnother is why a request is put to people anew.
var errAnother = fmt.Errorf("the agent shows something else by now: %w", convert.ErrWithdrawn)

// errElsewhere is why a question needs no answer here.
var errElsewhere = errors.New("answered elsewhere")

// gone says why a question needs no answer any more, in a sentence.
func (l *link) gone(a *waiting) string {
	text := clean.Truncate(clean.Line(l.told.described(a).here.Questions[0].Text), 100)
	var there life.Elsewhere // behind the agent
	switch {
	case errors.As(context.Cause(a.ctx), &there) && there.Outcome == convert.Answered.String():
		return "Answered " + there.Place() + ": " + text
	case errors.As(context.Cause(a.ctx), &there):
		return "Dismissed " + there.Place() + ": " + text
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

// overruled says that somebody else was first, to a user who has answered; else it is
// empty.
func (l *link) overruled(a *waiting) string {
	if why := context.Cause(a.ctx); !a.spoken || !errors.Is(why, errElsewhere) && !errors.As(why, new(life.Elsewhere)) {
		return ""
	}
	return l.gone(a) + " (that was first)"
}
