package adapter

import (
	"context"
	"errors"
	"fmt"

	"github.com/acp-bridge/acp-bridge/convert"
)

// Static gives the same outcome to every call, for tests and dry runs. Answers
// are used when Err is nil.
type Static struct {
	Answers []convert.Answer
	Err     error
}

// Ask implements [Resolver].
func (s Static) Ask(_ context.Context, c convert.Call) (convert.Outcome, error) {
	if s.Err != nil {
		return Settle(c, convert.Outcome{}, s.Err)
	}
	return Settle(c, convert.Outcome{Status: convert.Answered, Answers: s.Answers}, nil)
}

// Func makes a [Resolver] of a function that returns one answer per question,
// or an error; [convert.ErrCancelled] and [convert.ErrDeclined] stand for the
// user's choice, anything else is a failure.
type Func func(ctx context.Context, c convert.Call) ([]convert.Answer, error)

// Ask implements [Resolver].
func (f Func) Ask(ctx context.Context, c convert.Call) (convert.Outcome, error) {
	answers, err := f(ctx, c)
	return Settle(c, convert.Outcome{Status: convert.Answered, Answers: answers}, err)
}

// resolve asks a [Resolver] of somebody else's: that there is none, or that it panics, is
// a failure like others.
func resolve(ctx context.Context, r Resolver, c convert.Call) (o convert.Outcome, err error) {
	defer func() {
		if v := recover(); v != nil {
			o, err = failed(fmt.Sprintf("the Resolver panicked: %v", v))
		}
	}()
	if r == nil {
		return failed("there is no Resolver: nobody would answer")
	}
	return r.Ask(ctx, c)
}

// Settle makes outcome and error of a resolver agree, and turns answers that
// do not fit the questions into a failure. It is for whoever calls a [Resolver]
// of somebody else's.
func Settle(c convert.Call, o convert.Outcome, err error) (convert.Outcome, error) {
	switch {
	case err == nil:
		if err := o.Check(c); err != nil {
			return failed(err.Error())
		}
		for i, a := range o.Answers {
			if c.Questions[i].Fits(a) != nil {
				return failed(fmt.Sprintf("question %d takes only its options, without words", i+1))
			}
		}
		o = o.InOrder(c)
	case o.Status != 0 && o.Status != convert.Answered: // says more than the error
	case errors.Is(err, convert.ErrCancelled):
		o = convert.Outcome{Status: convert.Cancelled, Reason: convert.CancelMessage}
	case errors.Is(err, convert.ErrWithdrawn):
		o = convert.Outcome{Status: convert.Withdrawn, Reason: Words(err)}
	case errors.Is(err, convert.ErrDeclined):
		o = convert.Outcome{Status: convert.Declined, Reason: convert.DeclineMessage}
	case disconnected(err):
		o = convert.Outcome{Status: convert.Disconnected, Reason: convert.GoneMessage}
	default:
		o = convert.Outcome{Status: convert.Failed, Reason: Words(err)}
	}
	return o, o.Err()
}
