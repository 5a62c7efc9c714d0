package adapter

import (
	"context"
	"io"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/about"
)

// RequestPermission asks for an ordinary permission in the session's queue: it
// waits for open questions, and they wait for it. At the desk it is a question
// whose options have the names of the request's. The reply is the client's as it
// came; if the desk settled it, one that selects the option picked there, or is
// cancelled. One that was never shown, because the user dismissed a question before it,
// is an error that matches [convert.ErrCancelled].
func (a *Adapter) RequestPermission(ctx context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	return a.PostPermission(ctx, convert.SubAgent{}, r)()
}

// PostPermission takes the request's place in its session's queue, at once, and
// returns the rest of [Adapter.RequestPermission]. wait must be called, once. At
// the desk it says which sub-agent asks, if one does.
func (a *Adapter) PostPermission(ctx context.Context, who convert.SubAgent, r acp.RequestPermissionRequest) (wait func() (acp.RequestPermissionResponse, error)) {
	p := permission{request: r, call: about.PermissionCall(r)}
	p.call.SubAgent = who
	it := desk.Item{Kind: desk.Permission, Call: p.call, Check: about.OneOption(r), About: about.About{Tool: about.ToolOf(r)}}
	ticket, err := a.place(ctx, it, "permission")
	if err != nil { // there may be several for one tool call
		p.call.ID, it.Call.ID = "", ""
		ticket, err = a.place(ctx, it, string(r.ToolCall.ToolCallId))
	}
	return func() (acp.RequestPermissionResponse, error) {
		if err != nil {
			return acp.RequestPermissionResponse{}, err
		}
		return p.wait(a, ticket)
	}
}

type permission struct {
	request acp.RequestPermissionRequest
	call    convert.Call
}

func (p *permission) wait(a *Adapter, t *desk.Ticket) (acp.RequestPermissionResponse, error) {
	defer t.Leave()
	var response acp.RequestPermissionResponse
	err := t.Turn()
	if err == nil {
		response, err = p.ask(a, t)
	}
	o := p.outcome(a, t.Context(), response, err)
	stands, first := t.Settle(o, settledBy(t.Context(), o))
	a.tellSettled(t.Ref(), stands)
	if first {
		return response, err
	}
	return p.response(stands)
}

func (p *permission) ask(a *Adapter, t *desk.Ticket) (r acp.RequestPermissionResponse, err error) {
	if a.opts.First != Elsewhere {
		t.Asking(0, Permission.String())
		p.showPlan(a, t.Context())
		return a.client.RequestPermission(t.Context(), p.request)
	}
	t.Asking(0, Elsewhere.String())
	select {
	case <-t.Context().Done():
		return r, context.Cause(t.Context())
	case <-a.closed():
		return r, io.ErrClosedPipe
	}
}

// showPlan puts a plan into the conversation, for a client that asks for its
// approval and does not show it.
func (p *permission) showPlan(a *Adapter, ctx context.Context) {
	up, ok := a.client.(Updater)
	if plan := about.Plan(p.request); ok && plan != "" && a.opts.TitlesOnly() {
		n := acp.SessionNotification{SessionId: p.request.SessionId, Update: acp.UpdateAgentMessageText("\n\n" + plan + "\n\n")}
		if err := up.SessionUpdate(ctx, n); err != nil {
			a.log.Debug("a plan was not shown", "session", p.request.SessionId, "err", err)
		}
	}
}

// outcome is what a reply means at the desk.
func (p *permission) outcome(a *Adapter, ctx context.Context, r acp.RequestPermissionResponse, err error) convert.Outcome {
	if err != nil {
		if o := a.ended(ctx, err); o.Status != 0 {
			return o
		}
		return convert.Outcome{Status: convert.Failed, Reason: refused("the request", err).Error()}
	}
	if r.Outcome.Cancelled != nil {
		return convert.Outcome{Status: convert.Cancelled, Reason: convert.CancelMessage}
	}
	for i, o := range p.request.Options {
		if r.Outcome.Selected != nil && r.Outcome.Selected.OptionId == o.OptionId {
			picked := convert.Answer{Selected: []string{p.call.Questions[0].Options[i].Label}}
			return convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{picked}}
		}
	}
	return convert.Outcome{Status: convert.Failed, Reason: "the client selected an option that was not offered"}
}

// response is the reply that the desk's outcome stands for.
func (p *permission) response(o convert.Outcome) (r acp.RequestPermissionResponse, err error) {
	switch o.Status {
	case convert.Answered:
		for i, option := range p.call.Questions[0].Options {
			if option.Label == o.Answers[0].Selected[0] {
				r.Outcome = acp.NewRequestPermissionOutcomeSelected(p.request.Options[i].OptionId)
				if note := o.Answers[0].Note; note != "" {
					r.Outcome.Selected.Meta = map[string]any{"notes": note}
				}
			}
		}
		return r, nil
	case convert.Cancelled:
		if o.Reason == convert.CancelMessage { // a person did that
			r.Outcome = acp.NewRequestPermissionOutcomeCancelled()
			return r, nil
		}
	}
	return r, o.Err()
}
