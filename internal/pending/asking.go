package pending

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/life"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// Asking is one call in a [Chain]. Its methods but Settle are for whoever asks.
type Asking struct {
	chain    *Chain
	ctx      context.Context
	item     desk.Item // for people elsewhere
	only     bool      // it is asked at the terminal and nowhere else
	call     convert.Call
	id       string // of its file, if it has one
	sessions []string
	given    convert.Outcome
	err      error // why it was not asked
	turn     <-chan struct{}
	leave    func()
	done     chan struct{} // closed when it is settled
	atHub    bool

	file    atomic.Pointer[File]
	shared  proc.Shared // has what follows
	inFile  bool        // its file has the outcome
	here    bool        // it was given at the terminal
	settled bool
	desk.Settlement
}

var _ adapter.Asking = (*Asking)(nil)

// File is where the questions wait; nil if they do in no file.
func (a *Asking) File() *File { return a.file.Load() }

// waitsIn has the questions wait in a file.
func (a *Asking) waitsIn(f *File) {
	if f != nil {
		a.id = f.ID
		a.file.Store(f)
	}
}

// Ready reports whether Wait will not have to wait.
func (a *Asking) Ready() bool {
	f := a.File()
	return a.err != nil || a.given.Status != 0 || f != nil && f.Err == nil && f.Settled()
}

// Err says why the questions could not be asked at all.
func (a *Asking) Err() error { return a.err }

// Here reports whether the outcome was given at the terminal.
func (a *Asking) Here() bool { return a.here }

// At is when the outcome was given.
func (a *Asking) At() time.Time { return a.Settlement.At }

// Where says where a person can answer, in words for an agent.
func (a *Asking) Where() string {
	var lines []string
	if hub := a.chain.opts.Hub; hub != nil {
		lines = append(lines, "The question waits at "+hub.URL.String()+"/")
	}
	if f := a.File(); f != nil {
		lines = append(lines, fmt.Sprintf("The user cannot be asked here and now. Tell the user to run `acp-bridge questions answer %s`, or to write the answers into %s.", f.ID, f.Path))
	}
	return strings.Join(lines, "\n")
}

// claim takes over the file of a predecessor. One that has to be corrected first
// can be waited for, but not left.
func (a *Asking) claim(sessions []string) {
	f, err := a.chain.asker.Claim(a.call, sessions...)
	switch {
	case errors.Is(err, ErrNotFound):
		return
	case f == nil, a.chain.opts.Leave && a.chain.opts.Given == nil:
		a.err = err
	}
	a.item.Again = f != nil
	a.waitsIn(f)
}

// post has the questions wait in a file.
func (a *Asking) post() {
	if a.chain.asker == nil || a.item.Kind != desk.Question || a.only {
		return
	}
	f, err := a.chain.asker.post(a.item.Agent, a.call, a.sessions)
	a.err = err
	a.waitsIn(f)
}

// postAgain has the questions wait in a file again, which somebody removed without
// a word of what should become of them.
func (a *Asking) postAgain(f *File) (*File, error) {
	now, err := a.chain.asker.again(f)
	if err != nil {
		return nil, err
	}
	a.file.Store(now)
	a.chain.say("%s was removed: the question waits in %s; acp-bridge questions clear %s dismisses it",
		clean.Line(f.Path), clean.Line(now.Path), now.ID)
	return now, nil
}

// Wait implements [adapter.Asking].
func (a *Asking) Wait() (convert.Outcome, error) {
	defer a.leave()
	switch {
	case a.err != nil:
	case a.given.Status != 0:
		a.settle(a.given, a.chain.opts.Me, a.chain.opts.GivenBy)
	case a.Ready():
		a.settleFrom(a.File())
	default:
		a.live()
	}
	switch {
	case a.settled:
		return a.Outcome, a.Outcome.Err()
	case a.err != nil:
		return convert.Outcome{Status: convert.Failed, Reason: a.err.Error()}, a.err
	}
	return a.end()
}

// end is the outcome of a call that no person has settled.
func (a *Asking) end() (convert.Outcome, error) {
	if a.Outcome.Status == 0 {
		a.Outcome = adapter.Withdrawn(a.ctx)
	}
	if !a.stays() {
		a.withdraw()
	} else if f := a.File(); f != nil { // it may have been answered this moment
		if now, err := a.chain.opts.Store.Open(f.Path); err == nil && now.ID == a.id && now.Settled() && now.Foreign == nil {
			a.settleFrom(now)
		}
	}
	return a.Outcome, a.Outcome.Err()
}

// stays reports whether a call that has no outcome is left open for a successor.
func (a *Asking) stays() bool {
	return len(a.sessions) > 0 && !errors.Is(context.Cause(a.ctx), convert.ErrWithdrawn)
}

// withdraw takes the questions out of their file. What a person has answered this
// moment counts.
func (a *Asking) withdraw() {
	f := a.File()
	if f == nil {
		return
	}
	now, err := a.chain.asker.Withdraw(f)
	switch {
	case err != nil && !errors.Is(err, ErrGone):
		a.chain.say("the question stays in its file: %s", clean.Line(err.Error()))
	case now != nil && now.ID == a.id && now.Settled() && now.Foreign == nil:
		a.settleFrom(now)
	}
}

// Settle gives the call an outcome that was got elsewhere. It returns the one
// that stands, which is the first.
func (a *Asking) Settle(o convert.Outcome, by string) convert.Outcome {
	a.settle(o, by, by)
	return a.Outcome
}

func (a *Asking) isSettled() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// settle gives the call its outcome, and writes it into the file, so that nobody
// else settles it there. It returns false if somebody was faster: that stands,
// and the person is told what came of theirs.
func (a *Asking) settle(o convert.Outcome, by, what string) (won bool) {
	a.shared.Step(func() {
		if a.settled {
			return
		}
		first, written := a.write(o, by)
		if won = first == nil; won {
			a.become(desk.Settlement{Outcome: o, By: by, At: time.Now()}, written)
			return
		}
		if what != "" && o.Status.ByPerson() {
			a.chain.say("%s is not used: %s: %s", what, clean.Line(first.Path), clean.Line(first.SettledError().Error()))
		}
		a.become(first.settlement(), true)
	})
	return won
}

// settleFrom gives the call the outcome that its file has.
func (a *Asking) settleFrom(f *File) { a.finish(f.settlement()) }

// finish gives the call an outcome that came by its file.
func (a *Asking) finish(s desk.Settlement) {
	a.shared.Step(func() {
		if !a.settled {
			a.become(s, true)
		}
	})
}

// become gives the call an outcome, once, in a step.
func (a *Asking) become(s desk.Settlement, inFile bool) {
	a.Settlement, a.inFile, a.settled = s, inFile, true
	close(a.done)
}

// write writes a person's choice into the file. first is the file if somebody has
// settled it before. What somebody has begun to answer is not dismissed.
func (a *Asking) write(o convert.Outcome, by string) (first *File, written bool) {
	f := a.File()
	if f == nil || !o.Status.ByPerson() {
		return nil, false
	}
	store := a.chain.opts.Store
	for {
		now, err := store.Open(f.Path)
		switch {
		case err != nil || now.ID != a.id || now.Foreign != nil || errors.Is(now.Err, ErrDamaged): // it is gone, or of no use
			return nil, false
		case now.Settled():
			return now, true
		case o.Status == convert.Answered:
			err = store.Answer(now, o.Answers, by)
		case now.Untouched():
			err = store.Dismiss(now, by)
		default:
			return nil, false
		}
		if err == nil {
			return nil, true
		}
		if !errors.Is(err, ErrChanged) && !errors.Is(err, desk.ErrSettled) { // it cannot be written
			return nil, false
		}
	}
}

// Deliver implements [adapter.Asking]. If a person has removed the file since, with
// [Store.Remove], use is not called and the error matches [convert.ErrCancelled].
func (a *Asking) Deliver(use func() error) error {
	f := a.File()
	if f == nil || !a.settled || !a.inFile && a.Outcome.Status != convert.Answered {
		return a.used(use())
	}
	switch err := a.chain.asker.Deliver(f, use); {
	case errors.Is(err, life.ErrNotKept):
		a.chain.say("%s", clean.Line(err.Error()))
		return a.used(nil)
	case errors.Is(err, ErrGone) && a.Outcome.Status == convert.Answered:
		return fmt.Errorf("%w: %w", convert.ErrCancelled, err)
	case errors.Is(err, ErrGone):
		return a.used(use())
	default:
		return a.used(err)
	}
}

// used tells the hub that whoever asked has gone on with the hub's answer to this
// call. Of another it says nothing: that may wait for somebody who fetches it.
func (a *Asking) used(err error) error {
	if err == nil && a.settled && a.By == hubName && a.chain.link != nil {
		a.chain.link.Received(a.id, nil)
	}
	return err
}
