package adapter

import (
	"context"
	"errors"
	"slices"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/seen"
)

// errTooFast is the guard's reason to distrust a reply.
var errTooFast = errors.New("the reply came faster than a person could have read the question")

// tooFast is errTooFast for what is still asked: what has ended meanwhile says
// nothing about the client.
func tooFast(e *entry) error {
	if e.ctx.Err() != nil {
		return nil
	}
	return errTooFast
}

// showing is one for something that is about to be shown, and the context to send
// it with. It is nil, and costs nothing, for a client that is not doubted.
func (a *Adapter) showing(ctx context.Context, doubted bool) (context.Context, *seen.Showing) {
	if !doubted {
		return ctx, nil
	}
	s := seen.New(a.opts.Now)
	if _, ok := a.client.(seen.Witness); ok && a.opts.Now == nil {
		return s.Context(ctx), s
	}
	s.Look().Found(seen.Sent)
	return ctx, s
}

// byPerson judges a reply that has just come.
func byPerson(ctx context.Context, s *seen.Showing, ownWords bool) bool {
	kind := seen.Pick
	if ownWords {
		kind = seen.Words
	}
	s.Replied(kind)
	return s.Counts(ctx)
}

// byHand reports whether answers hold words or several picks for one question,
// which no client sends by itself: our own forms have no defaults.
func byHand(answers []convert.Answer) bool {
	return slices.ContainsFunc(answers, func(a convert.Answer) bool {
		return a.Text != "" || a.Note != "" || len(a.Selected) > 1
	})
}

// maxHasty is how many messages in a row may be no answers because they were sent
// too early.
const maxHasty = 8

const hastyReason = "The user could not be asked: messages kept coming before the question can have been read"

// hastyRemark says why a reply was not taken for an answer.
const hastyRemark = "Your last message was sent before you can have read this question, so it was not taken as an answer. Please answer now:"
