package mcp

import (
	"context"
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
)

// answersKey names the form among the inputs that a call asks for.
const answersKey = "answers"

// elicits reports whether the client shows forms.
func elicits(session *sdk.ServerSession) bool {
	p := session.InitializeParams()
	if p == nil || p.Capabilities == nil || p.Capabilities.Elicitation == nil {
		return false
	}
	e := p.Capabilities.Elicitation
	return e.Form != nil || e.URL == nil // clients of before the modes name none
}

// elicit asks with a form of the client's: as a request where the client takes
// those, and otherwise as a result that asks for input. The call is then made
// again, with the input.
func (s *Server) elicit(ctx context.Context, r *sdk.CallToolRequest, call convert.Call) (*sdk.CallToolResult, error) {
	if given, ok := r.Params.InputResponses[answersKey].(*sdk.ElicitResult); ok {
		return s.elicited(call, given), nil
	}
	form := mcpForm(ask.Form(call))
	if r.Session.InitializeParams().ProtocolVersion >= inputResults {
		return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{answersKey: form}}, nil
	}
	inner, stop := context.WithCancel(ctx)
	defer stop()
	var beside *ticket
	if s.opts.Alongside && s.opts.Resolver != nil {
		beside = s.ask(r.Session, call)
		go func() {
			select {
			case <-beside.done:
				if beside.decided() {
					stop() // takes the form back
				}
			case <-inner.Done():
			}
		}()
	}
	given, err := r.Session.Elicit(inner, form)
	switch {
	case err == nil && beside != nil:
		return result(s.first(beside, formOutcome(call, given))), nil
	case err == nil:
		return s.elicited(call, given), nil
	case beside != nil && beside.decided():
		return result(s.fetch(beside)), nil
	case ctx.Err() != nil:
		if beside != nil {
			s.leave(beside, giveUp)
		}
		return failure("The call was cancelled."), nil
	case s.opts.Resolver == nil:
		return failure("The user could not be asked: " + err.Error()), nil
	}
	s.log.Warn("the client did not show a form; the question is asked elsewhere", "err", err)
	if beside == nil {
		beside = s.ask(r.Session, call)
	}
	return s.wait(ctx, r, beside), nil
}

// inputResults is the version of MCP from which on a server asks with a result.
const inputResults = "2026-07-28"

// formName says who gave an outcome that came in the client's form.
const formName = "a form of the client"

// first is the result of what was first, the form or the Resolver, which knows if
// it can be told of the form's.
func (s *Server) first(t *ticket, form convert.Outcome) (text string, isError bool) {
	settles, ok := t.asking.(interface {
		Settle(o convert.Outcome, by string) convert.Outcome
	})
	if ok && form.Status != convert.Failed && !t.ended() {
		settles.Settle(form, formName)
	} else {
		t.cancel(adapter.ErrWithdrawn)
	}
	<-t.done
	if o := t.outcome; o.Status == convert.Answered || o.Status == convert.Declined || o.Status == convert.Cancelled && o.Reason == convert.CancelMessage {
		return s.fetch(t)
	}
	s.leave(t, fetch)
	return resultText(t.call, form)
}

// elicited is the result for a reply to the form.
func (s *Server) elicited(call convert.Call, given *sdk.ElicitResult) *sdk.CallToolResult {
	return result(resultText(call, formOutcome(call, given)))
}

func formOutcome(call convert.Call, given *sdk.ElicitResult) convert.Outcome {
	reply, err := json.Marshal(map[string]any{"action": given.Action, "content": given.Content})
	if err != nil {
		return convert.Outcome{Status: convert.Failed, Reason: err.Error()}
	}
	o, err := ask.FormOutcome(call, reply)
	if err != nil {
		return convert.Outcome{Status: convert.Failed, Reason: err.Error()}
	}
	return o
}

// mcpForm is a form as MCP has them: options have a title and no description.
func mcpForm(f ask.FormRequest) *sdk.ElicitParams {
	schema := f.RequestedSchema.(ask.FormSchema)
	for key, field := range schema.Properties {
		field.Meta = nil
		field.OneOf = titled(field.OneOf)
		if field.Items != nil {
			items := *field.Items
			items.AnyOf = titled(items.AnyOf)
			field.Items = &items
		}
		schema.Properties[key] = field
	}
	return &sdk.ElicitParams{Mode: "form", Message: f.Message, RequestedSchema: schema}
}

func titled(options []ask.FormOption) []ask.FormOption {
	var out []ask.FormOption
	for _, o := range options {
		if o.Description != "" {
			o.Title += " - " + o.Description
		}
		out = append(out, ask.FormOption{Const: o.Const, Title: o.Title})
	}
	return out
}
