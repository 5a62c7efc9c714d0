package adapter

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
)

// structural are limits that hold for every dialect: without them a reply
// could not be told apart.
var structural = convert.NoLimits

// Ask asks all questions of the call and returns how it ended. It blocks until
// then. When ctx ends, the open question is withdrawn. The outcome is Withdrawn if
// ctx was cancelled without a cause, Cancelled with [convert.ErrCancelled], which says
// that the user did it, Disconnected with [convert.ErrDisconnected], and Failed with
// any other cause, a deadline included.
//
// A call without an id gets one, and so does one whose id its session waits for already.
func (a *Adapter) Ask(ctx context.Context, c convert.Call) (convert.Outcome, error) {
	return a.Post(ctx, c)()
}

// Post takes the call's place in its session's queue, at once, and returns the
// rest of [Adapter.Ask]. wait must be called, once.
func (a *Adapter) Post(ctx context.Context, c convert.Call) (wait func() (convert.Outcome, error)) {
	e := &entry{call: c}
	if err := a.post(ctx, e); err != nil {
		return func() (convert.Outcome, error) { return failed(err.Error()) }
	}
	return func() (convert.Outcome, error) {
		o, _ := a.wait(e)
		return o, o.Err()
	}
}

// AskForm asks what an MCP server wants to know, in the session's queue and on
// the same rungs as [Adapter.Ask]. It returns the reply for the server, an
// accept only with values that the user gave and that fit the form, and how it
// came about. Unlike a question, a form that is dismissed withdraws no others.
func (a *Adapter) AskForm(ctx context.Context, f ask.FormCall) (json.RawMessage, convert.Outcome) {
	return a.PostForm(ctx, f)()
}

// PostForm takes the form's place in its session's queue, at once, and returns
// the rest of [Adapter.AskForm]. wait must be called, once.
func (a *Adapter) PostForm(ctx context.Context, f ask.FormCall) (wait func() (json.RawMessage, convert.Outcome)) {
	e := &entry{call: f.Call, form: &f}
	if err := a.post(ctx, e); err != nil {
		return func() (json.RawMessage, convert.Outcome) {
			o, _ := failed(err.Error())
			return formReply(f, o)
		}
	}
	return func() (json.RawMessage, convert.Outcome) {
		o, first := a.wait(e)
		if first && o.Status == convert.Answered && e.reply != nil {
			return e.reply, o
		}
		return formReply(f, o)
	}
}

func formReply(f ask.FormCall, o convert.Outcome) (json.RawMessage, convert.Outcome) {
	reply, err := f.Reply(o)
	if err != nil { // the ladder and the desk check answers before
		return json.RawMessage(ask.CancelForm), convert.Outcome{Status: convert.Failed, Reason: err.Error()}
	}
	return reply, o
}

func failed(reason string) (convert.Outcome, error) {
	o := convert.Outcome{Status: convert.Failed, Reason: reason}
	return o, o.Err()
}

// entry is a call that is being asked.
type entry struct {
	call   convert.Call
	form   *ask.FormCall   // of a call that is an MCP server's form
	reply  json.RawMessage // the client's to it, ready for the server
	ticket *desk.Ticket
	ctx    context.Context // the ticket's
	rung   Rung            // on which it was asked last
}

// post checks a call and puts it on the desk.
func (a *Adapter) post(ctx context.Context, e *entry) error {
	if err := e.call.Validate(structural); err != nil {
		return err
	}
	it := desk.Item{Kind: desk.Question, Call: e.call}
	if e.form != nil {
		it.Kind, it.Secret = desk.Form, e.form.Secret()
		it.Check = func(answers []convert.Answer) error {
			if it.Secret { // desks keep what they are told
				return errSecretAtDesk
			}
			return e.form.Fits(answers)
		}
	}
	ticket := a.place(ctx, it)
	e.ticket, e.ctx, e.call = ticket, ticket.Context(), ticket.Item().Call
	if e.form != nil {
		e.form.ID = e.call.ID
	}
	return nil
}

// place posts an item, for whoever calls wait next and may hold a lock until then.
func (a *Adapter) place(ctx context.Context, it desk.Item) *desk.Ticket {
	if a.opts.Describe != nil {
		a.opts.Describe(&it)
	}
	if c, ok := a.client.(poster); ok {
		c.Posts(&it)
	}
	return a.desk.Place(ctx, it)
}

// marked is the meta of a request that says whether it is asked again, for clients of ours
// that have a hub.
func marked(t *desk.Ticket, meta map[string]any) map[string]any {
	if !t.Item().Again {
		return meta
	}
	all := map[string]any{"acp-bridge-again": true}
	maps.Copy(all, meta)
	return all
}

// wait asks the call when its turn has come. It returns the outcome that stands,
// and whether it was the client that gave it.
func (a *Adapter) wait(e *entry) (o convert.Outcome, first bool) {
	// The call has its outcome, and nothing of it is in front of the user,
	// before the next one has its turn.
	defer e.ticket.Leave()
	if err := e.ticket.Turn(); err != nil {
		o, first = e.settle(a.ended(e.ctx, err))
	} else {
		o, first = a.ask(e)
	}
	a.tellSettled(o)
	return o, first
}

func (a *Adapter) tellSettled(o convert.Outcome) {
	if s, ok := a.client.(Settler); ok {
		s.Settled(o)
	}
}

// settle gives the call its outcome, unless somebody at the desk did.
func (e *entry) settle(o convert.Outcome) (stands convert.Outcome, first bool) {
	return e.ticket.Settle(o, "editor")
}
