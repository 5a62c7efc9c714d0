package adapter

import (
	"context"

	"github.com/acp-bridge/acp-bridge/convert"
)

// Poster is a [Resolver] that gives calls their places at once, waits for them
// side by side, and hands their outcomes over.
type Poster interface {
	Resolver
	// Post takes a call and does not wait. Calls are shown in the order in which
	// they were posted where only one can be shown at a time. When ctx ends, the
	// call is withdrawn.
	Post(ctx context.Context, c convert.Call) Asking
}

// Asking is a call that was posted. Its outcome may be kept where others can
// reach it, in a file or at a hub: to look is not to take. What else it may be
// able to say, to those who ask for it:
//
//	Ready() bool       Wait will not have to wait
//	Err() error        why it could not be asked at all, after Wait
//	At() time.Time     when the outcome was given, after Wait
//	Where() string     where a person can answer it, in words for an agent
//	Settle(o convert.Outcome, by string) convert.Outcome
//	                   takes an outcome that was got elsewhere, before Wait has
//	                   returned, and returns the one that stands
type Asking interface {
	// Wait waits for the outcome and returns it as [Resolver] does. It must be
	// called, once.
	Wait() (convert.Outcome, error)
	// Deliver hands the outcome over, after Wait has returned: nobody else can
	// take it while use runs, and it is taken when use returned nil. After an
	// error of use, which is returned, it is where it was. Any other error says
	// why there is nothing to hand over any more; use was not called.
	Deliver(use func() error) error
}

// Post posts a call. A [Resolver] that is no [Poster] is asked by Wait, and what
// it returns is nobody else's.
func Post(ctx context.Context, r Resolver, c convert.Call) Asking {
	if p, ok := r.(Poster); ok {
		return p.Post(ctx, c)
	}
	return asked{ctx, r, c}
}

// asked is a call of a [Resolver] that keeps nothing.
type asked struct {
	ctx  context.Context
	r    Resolver
	call convert.Call
}

// Wait implements [Asking].
func (a asked) Wait() (convert.Outcome, error) { return resolve(a.ctx, a.r, a.call) }

// Deliver implements [Asking].
func (a asked) Deliver(use func() error) error { return use() }
