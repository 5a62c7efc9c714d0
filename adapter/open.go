package adapter

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
)

// State says where an open call is.
type State int

const (
	// Queued means that the call waits for other requests of its session.
	Queued State = iota + 1
	// Asking means that a question of the call is in front of the user.
	Asking
	// Ended means that the call has an outcome.
	Ended
)

// String returns the state in lower case.
func (s State) String() string {
	switch s {
	case Queued:
		return "queued"
	case Asking:
		return "asking"
	case Ended:
		return "ended"
	}
	return "unknown"
}

// Change tells of one change of a call.
type Change struct {
	Call  convert.Call
	State State
	// Question counts from 0 and Rung says how it is asked, while State is
	// Asking. On the form rung all questions are asked at once.
	Question int
	Rung     Rung
	// Outcome is set when State is Ended.
	Outcome convert.Outcome
}

// ErrNotOpen means that no open call has the given session and id: it was
// never asked, or has ended.
var ErrNotOpen = errors.New("no such open question")

// entry is one open call. All fields but call, form, reply, order and ctx are
// guarded by the adapter's mutex.
type entry struct {
	call   convert.Call
	form   *ask.FormCall   // of a call that is an MCP server's form
	reply  json.RawMessage // the client's to it, ready for the server
	order  int
	ctx    context.Context
	cancel context.CancelCauseFunc

	state    State
	question int
	rung     Rung
	outcome  convert.Outcome
	forced   *convert.Outcome // set by Respond, Cancel and cancelled siblings
}

func (e *entry) change() Change {
	return Change{e.call, e.state, e.question, e.rung, e.outcome}
}

// changed tells the callback. The mutex is held, so that changes arrive in
// order.
func (a *Adapter) changed(e *entry) {
	if a.opts.OnChange != nil {
		a.opts.OnChange(e.change())
	}
}

func (a *Adapter) asking(e *entry, question int, r Rung) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e.state, e.question, e.rung = Asking, question, r
	a.changed(e)
}

// Open lists the calls that have no outcome yet, in the order in which they
// were asked.
func (a *Adapter) Open() []Change {
	a.mu.Lock()
	defer a.mu.Unlock()
	entries := make([]*entry, 0, len(a.open))
	for _, e := range a.open {
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(x, y *entry) int { return cmp.Compare(x.order, y.order) })
	list := make([]Change, len(entries))
	for i, e := range entries {
		list[i] = e.change()
	}
	return list
}

// Respond answers an open call from code, as a whole: one answer per question,
// the zero Answer for a question that is left open. The request at the client
// is withdrawn. Picks must be labels of the question.
func (a *Adapter) Respond(session, id string, answers []convert.Answer) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	e := a.open[key{session, id}]
	if e == nil || e.forced != nil {
		return fmt.Errorf("%w: session %q, call %q", ErrNotOpen, session, id)
	}
	o := convert.Outcome{Status: convert.Answered, Answers: answers}
	if err := o.Check(e.call); err != nil {
		return err
	}
	if e.form != nil {
		if _, err := e.form.Reply(o); err != nil {
			return err
		}
	}
	e.force(o.InOrder(e.call))
	return nil
}

// Cancel ends an open call from code as if the user had dismissed it. Calls
// of the same session that wait behind it are withdrawn too.
func (a *Adapter) Cancel(session, id string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	e := a.open[key{session, id}]
	if e == nil || e.forced != nil {
		return fmt.Errorf("%w: session %q, call %q", ErrNotOpen, session, id)
	}
	e.force(convert.Outcome{Status: convert.Cancelled, Reason: convert.CancelMessage})
	return nil
}

func (e *entry) force(o convert.Outcome) {
	e.forced = &o
	e.cancel(nil)
}

// withdrawSiblings ends the calls that waited behind a cancelled one: after a
// cancel nothing more is asked. The mutex is held.
func (a *Adapter) withdrawSiblings(cancelled *entry) {
	for _, e := range a.open {
		if e.call.Session == cancelled.call.Session && e.state == Queued && e.forced == nil {
			e.force(convert.Outcome{Status: convert.Cancelled, Reason: "Withdrawn: another question was cancelled"})
		}
	}
}
