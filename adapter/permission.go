package adapter

import (
	"context"
	"errors"
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
// cancelled. One that nobody has answered is an error, which matches
// [convert.ErrWithdrawn] if it was taken back. An option that allows, with words beside
// it, is no permission: the request is shown again, and says so.
func (a *Adapter) RequestPermission(ctx context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	return a.PostPermission(ctx, convert.SubAgent{}, r)()
}

// PostPermission takes the request's place in its session's queue, at once, and
// returns the rest of [Adapter.RequestPermission]. wait must be called, once. At
// the desk it says which sub-agent asks, if one does.
func (a *Adapter) PostPermission(ctx context.Context, who convert.SubAgent, r acp.RequestPermissionRequest) (wait func() (acp.RequestPermissionResponse, error)) {
	p := permission{request: r, call: about.PermissionCall(r), tool: about.ToolOf(r)}
	p.call.SubAgent = who
	it := desk.Item{Kind: desk.Permission, Call: p.call, Check: p.tool.Check(p.call.Questions[0].Options), About: about.About{Tool: p.tool}}
	ticket := a.place(ctx, it)
	return func() (acp.RequestPermissionResponse, error) { return p.wait(a, ticket) }
}

type permission struct {
	request acp.RequestPermissionRequest
	call    convert.Call
	tool    about.Tool
}

func (p *permission) wait(a *Adapter, t *desk.Ticket) (acp.RequestPermissionResponse, error) {
	defer t.Leave()
	var response acp.RequestPermissionResponse
	err := t.Turn()
	if err == nil {
		response, err = p.ask(a, t)
	}
	o := p.outcome(a, t.Context(), response, err)
	stands, first := t.Settle(o, "editor")
	a.tellSettled(stands)
	if first {
		return response, err
	}
	return p.response(stands)
}

func (p *permission) ask(a *Adapter, t *desk.Ticket) (r acp.RequestPermissionResponse, err error) {
	if a.opts.First != Elsewhere {
		t.Asking(0, Permission.String())
		if text := about.Unseen(p.request); text != "" {
			p.tell(a, t.Context(), text)
		}
		return p.askClient(a, t)
	}
	t.Asking(0, Elsewhere.String())
	select {
	case <-t.Context().Done():
		return r, context.Cause(t.Context())
	case <-a.closed():
		return r, io.ErrClosedPipe
	}
}

// askClient asks until the reply is one, or has words beside a yes once too often.
func (p *permission) askClient(a *Adapter, t *desk.Ticket) (r acp.RequestPermissionResponse, err error) {
	ctx, request := t.Context(), p.request
	request.Meta = marked(t, request.Meta)
	var condition about.Condition
	for range maxTries {
		if r, err = a.client.RequestPermission(ctx, request); err != nil {
			return r, err
		}
		if _, err := p.picked(r); !errors.As(err, &condition) {
			return r, nil
		}
		p.tell(a, ctx, condition.Remark())
		remark := acp.ToolContent(acp.TextBlock(condition.Remark()))
		request.ToolCall.Content = append([]acp.ToolCallContent{remark}, p.request.ToolCall.Content...)
	}
	return acp.RequestPermissionResponse{}, condition
}

// tell puts into the conversation what belongs to the request, for a client that does
// not show it there.
func (p *permission) tell(a *Adapter, ctx context.Context, text string) {
	up, ok := a.client.(Updater)
	if !ok || !a.opts.TitlesOnly() {
		return
	}
	if c, ok := a.client.(interface{ Attended(context.Context) }); ok {
		c.Attended(ctx)
	}
	n := acp.SessionNotification{SessionId: p.request.SessionId, Update: acp.UpdateAgentMessageText("\n\n" + text + "\n\n")}
	if err := up.SessionUpdate(ctx, n); err != nil {
		a.log.Debug("what belongs to a permission was not shown", "session", p.request.SessionId, "err", err)
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
	picked, err := p.picked(r)
	if err != nil {
		return convert.Outcome{Status: convert.Failed, Reason: "the client selected an option that was not offered"}
	}
	return convert.Outcome{Status: convert.Answered, Answers: []convert.Answer{picked}}
}

// picked is the option that the client selected, with what its user wrote beside it.
func (p *permission) picked(r acp.RequestPermissionResponse) (a convert.Answer, err error) {
	options := p.call.Questions[0].Options
	for i, o := range p.request.Options {
		if r.Outcome.Selected != nil && r.Outcome.Selected.OptionId == o.OptionId {
			a = convert.Answer{Selected: []string{options[i].Label}, Note: about.Beside(r)}
			break
		}
	}
	_, _, err = p.tool.Picked(options, []convert.Answer{a})
	return a, err
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
		r.Outcome = acp.NewRequestPermissionOutcomeCancelled()
		return r, nil
	}
	return r, o.Err()
}
