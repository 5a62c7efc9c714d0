package askuserquestion

import (
	"context"
	"errors"
	"fmt"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/convert"
)

// Resolver asks the user. It returns one answer per question, or an error:
// [ErrResolverCancelled] if the user did not want to answer. Ask blocks until
// then, and no longer than ctx lasts.
type Resolver interface {
	Ask(ctx context.Context, req Request) ([]Answer, error)
}

// ResolverFunc makes a [Resolver] of a function.
type ResolverFunc func(ctx context.Context, req Request) ([]Answer, error)

// Ask implements [Resolver].
func (f ResolverFunc) Ask(ctx context.Context, req Request) ([]Answer, error) { return f(ctx, req) }

// StaticResolver answers every call alike, for tests and dry runs.
type StaticResolver struct {
	Answers []Answer
	Err     error
}

// Ask implements [Resolver].
func (s StaticResolver) Ask(context.Context, Request) ([]Answer, error) { return s.Answers, s.Err }

// Through asks with a resolver of package adapter: in an ACP editor, in the
// terminal, through a hub. Session is the ACP session that the questions belong
// to; it may be empty where there is none.
func Through(r adapter.Resolver, session string) Resolver {
	return ResolverFunc(func(ctx context.Context, req Request) ([]Answer, error) {
		c := shown(req)
		c.Session = session
		o, err := r.Ask(ctx, c)
		switch {
		case errors.Is(err, convert.ErrCancelled), errors.Is(err, convert.ErrDeclined):
			return nil, fmt.Errorf("%w (%w)", ErrResolverCancelled, err)
		case err != nil:
			return nil, err
		}
		answers := make([]Answer, len(c.Questions))
		for i, q := range c.Questions {
			answers[i].Question = q.Text
			if i < len(o.Answers) {
				answers[i].Selected, answers[i].Other = o.Answers[i].Selected, other(c, i, o.Answers[i])
			}
		}
		return answers, nil
	})
}

// other is what the user typed. A note beside a pick, and a text beside picks, have
// no place of their own: they stand there together with the picks, as the result
// says it.
func other(c convert.Call, i int, a convert.Answer) string {
	switch {
	case a.Text != "" && len(a.Selected) > 0:
		return convert.WithNote(convert.Join(a.Items()), a.Note)
	case a.Note == "":
		return a.Text
	}
	one := convert.Call{Questions: []convert.Question{c.Questions[i]}}
	return convert.Format(one, []convert.Answer{a})[len(c.Questions[i].Text)+1:]
}
