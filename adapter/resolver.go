package adapter

import (
	"context"
	"errors"

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

// Settle makes outcome and error of a resolver agree, and turns answers that
// do not fit the questions into a failure. It is for whoever calls a [Resolver]
// of somebody else's.
func Settle(c convert.Call, o convert.Outcome, err error) (convert.Outcome, error) {
	switch {
	case err == nil:
		if err := o.Check(c); err != nil {
			return failed(err.Error())
		}
		o = o.InOrder(c)
	case o.Status != 0 && o.Status != convert.Answered: // says more than the error
	case errors.Is(err, convert.ErrCancelled):
		o = convert.Outcome{Status: convert.Cancelled, Reason: convert.CancelMessage}
	case errors.Is(err, convert.ErrDeclined):
		o = convert.Outcome{Status: convert.Declined, Reason: convert.DeclineMessage}
	case disconnected(err):
		o = convert.Outcome{Status: convert.Disconnected, Reason: convert.GoneMessage}
	default:
		o = convert.Outcome{Status: convert.Failed, Reason: Words(err)}
	}
	return o, o.Err()
}
