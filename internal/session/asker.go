package session

import (
	"cmp"
	"context"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/typed"
)

// Asker is a request of the agent for whoever drives the session: what [State.Step] says
// of it gets here to the goroutine that asks it.
type Asker struct {
	Key int // of its events and effects
	// Ctx ends with the request. Cancel is for [Withdraw].
	Ctx    context.Context
	Cancel context.CancelCauseFunc
	Post   func() // for [Post]: it takes its place at the desk

	admitted chan bool   // holds one
	heard    chan spoken // holds one
}

// spoken are the words of a prompt that answers a question. Stale means that they may have
// been meant for another one.
type spoken struct {
	words typed.Words
	stale bool
}

// NewAsker returns one that ends with ctx at the latest.
func NewAsker(ctx context.Context) Asker {
	a := Asker{Post: func() {}, admitted: make(chan bool, 1), heard: make(chan spoken, 1)}
	a.Ctx, a.Cancel = context.WithCancelCause(ctx)
	return a
}

// Admit is for the effect of that name; a request that is over needs none. Admitted waits
// for it, behind an event that asks whether the request may go on.
func (a *Asker) Admit(e Admit) { a.admitted <- e.OK }

// Admitted is described at [Asker.Admit].
func (a *Asker) Admitted() bool { return <-a.admitted }

// Hear is for the effect of that name, with the words of its prompt.
func (a *Asker) Hear(e Hear, words typed.Words) { a.heard <- spoken{words, e.Stale} }

// Withdrawn is why a request may not go on.
func Withdrawn(ctx context.Context) error {
	return cmp.Or(context.Cause(ctx), error(convert.ErrCancelled))
}

// Parking is how a driver has a question in the conversation.
type Parking struct {
	// Show parks it behind all that was said so far and returns the context of that
	// showing, and what ends it; no context if it may not be shown.
	Show func(text string) (view context.Context, hide func())
	// Anew is called before it is shown once more, Gone with a remark for the user who
	// need not answer any more.
	Anew func()
	Gone func(remark string)
}

// Converse asks in the conversation until the words of a prompt are an answer. Means is
// that of [typed.Hearing].
func (a *Asker) Converse(ctx context.Context, question string, means func(string) bool, p Parking) (string, error) {
	hearing := typed.Hearing{Means: means}
	for text := question; ; p.Anew() {
		view, hide := p.Show(text)
		if view == nil {
			return "", Withdrawn(ctx)
		}
		select {
		case h := <-a.heard:
			hide()
			answer, again := h.by(&hearing)
			if again == "" {
				return answer, nil
			}
			text = again + question
		case <-view.Done():
			if hide(); ctx.Err() != nil {
				if remark := goneRemark(context.Cause(ctx)); remark != "" {
					p.Gone(remark)
				}
				return "", Withdrawn(ctx)
			}
			text = againRemark + question // what showed it is gone
		}
	}
}
