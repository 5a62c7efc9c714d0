package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/about"
)

// RequestPermission asks for an ordinary permission in the session's queue: it
// waits for open questions, and they wait for it. At the desk it is a question
// whose options have the names of the request's. The reply is the client's as it
// came; if the desk settled it, one that selects the option picked there, or is
// cancelled.
func (a *Adapter) RequestPermission(ctx context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	return a.PostPermission(ctx, convert.SubAgent{}, r)()
}

// PostPermission takes the request's place in its session's queue, at once, and
// returns the rest of [Adapter.RequestPermission]. wait must be called, once. At
// the desk it says which sub-agent asks, if one does.
func (a *Adapter) PostPermission(ctx context.Context, who convert.SubAgent, r acp.RequestPermissionRequest) (wait func() (acp.RequestPermissionResponse, error)) {
	p := permission{request: r, call: permissionCall(r)}
	p.call.SubAgent = who
	it := desk.Item{Kind: desk.Permission, Call: p.call, Check: oneOption, About: about.About{Tool: toolOf(r)}}
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

// permissionCall is a permission request as a question.
func permissionCall(r acp.RequestPermissionRequest) convert.Call {
	q := convert.Question{Text: string(r.ToolCall.ToolCallId), Closed: true}
	if r.ToolCall.Title != nil && *r.ToolCall.Title != "" {
		q.Text = *r.ToolCall.Title
	}
	for i, o := range r.Options {
		label := o.Name
		taken := func(o convert.Option) bool { return o.Label == label }
		if label == "" || slices.ContainsFunc(q.Options, taken) {
			label += " (" + strconv.Itoa(i+1) + ")"
		}
		q.Options = append(q.Options, convert.Option{Label: label})
	}
	c := convert.Call{Session: string(r.SessionId), ID: string(r.ToolCall.ToolCallId), Questions: []convert.Question{q}}
	c.Input, _ = r.ToolCall.RawInput.(json.RawMessage)
	return c
}

// toolOf is what a request shows beside the call's input. Files whose new text the
// input has are in there.
func toolOf(r acp.RequestPermissionRequest) (t about.Tool) {
	if r.ToolCall.Kind != nil {
		t.Kind = string(*r.ToolCall.Kind)
	}
	for _, o := range r.Options {
		t.Picks = append(t.Picks, string(o.Kind))
	}
	input, _ := r.ToolCall.RawInput.(json.RawMessage)
	for _, c := range r.ToolCall.Content {
		if c.Diff != nil && !bytes.Contains(input, quoted(c.Diff.NewText)) {
			t.Changes = append(t.Changes, about.Change{Path: c.Diff.Path, Old: c.Diff.OldText, New: c.Diff.NewText})
		}
	}
	return t
}

// quoted is a text as it stands in JSON, without its quotes.
func quoted(s string) []byte {
	b := clean.AppendJSON(nil, s)
	return b[1 : len(b)-1]
}

// oneOption is the rule for answers to a permission request.
func oneOption(answers []convert.Answer) error {
	if len(answers) != 1 || len(answers[0].Selected) != 1 || answers[0].Text != "" {
		return fmt.Errorf("%w: a permission takes one of its options and nothing else", convert.ErrBadAnswer)
	}
	return nil
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
	a.tellSettled(stands)
	if first {
		return response, err
	}
	return p.response(stands)
}

func (p *permission) ask(a *Adapter, t *desk.Ticket) (r acp.RequestPermissionResponse, err error) {
	if a.opts.First != Elsewhere {
		t.Asking(0, Permission.String())
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
		r.Outcome = acp.NewRequestPermissionOutcomeCancelled()
		return r, nil
	}
	return r, o.Err()
}
