package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/internal/seen"
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
		shown := time.Now() // of a client that does not say when it was asked
		if at, err := strconv.ParseInt(r.Params.RequestState, 10, 64); err == nil {
			shown = time.UnixMilli(at)
		}
		o, err := formOutcome(call, given, shown)
		if err != nil {
			return s.elsewhere(ctx, r, call, nil, err), nil
		}
		return result(resultText(call, o)), nil
	}
	form := mcpForm(ask.Form(call))
	if r.Session.InitializeParams().ProtocolVersion >= inputResults {
		return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{answersKey: form}, RequestState: strconv.FormatInt(time.Now().UnixMilli(), 10)}, nil
	}
	inner, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(s.ctx, stop)() // the SDK waits for this call before a session ends
	var beside *ticket
	if s.opts.Alongside {
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
	shown := time.Now()
	given, err := r.Session.Elicit(inner, form)
	var o convert.Outcome
	if err == nil {
		o, err = formOutcome(call, given, shown)
	}
	switch {
	case err == nil && beside != nil:
		return result(s.first(beside, o)), nil
	case err == nil:
		return result(resultText(call, o)), nil
	case beside != nil && beside.decided():
		return result(s.fetch(beside)), nil
	case ctx.Err() != nil, s.ctx.Err() != nil:
		if beside != nil {
			s.leave(beside, giveUp)
		}
		return failure("The call was cancelled."), nil
	}
	return s.elsewhere(ctx, r, call, beside, err), nil
}

// elsewhere asks where the client's form has failed, or was sent back with what is no
// reply to it: no person has said anything yet. beside is where it is asked already, or
// nil.
func (s *Server) elsewhere(ctx context.Context, r *sdk.CallToolRequest, call convert.Call, beside *ticket, err error) *sdk.CallToolResult {
	if s.opts.Resolver == nil {
		return failure("The user could not be asked: " + err.Error())
	}
	s.log.Warn("the client did not show a form; the question is asked elsewhere", "err", err)
	if beside == nil {
		beside = s.ask(r.Session, call)
	}
	return s.wait(ctx, r, beside)
}

// inputResults is the version of MCP from which on a server asks with a result, and
// sessionVersion the last one before: initialize agrees on nothing newer.
const (
	inputResults   = "2026-07-28"
	sessionVersion = "2025-11-25"
)

// agreed has a session know by the version that it got, not by the one that the client
// offered: the SDK keeps what was offered.
func agreed(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		if p, ok := r.GetParams().(*sdk.InitializeParams); ok && p != nil && p.ProtocolVersion >= inputResults {
			p.ProtocolVersion = sessionVersion
		}
		return next(ctx, method, r)
	}
}

// formName says who gave an outcome that came in the client's form.
const formName = "a form of the client"

// first is the result of what was first, the form or the Resolver, which knows if
// it can be told of the form's.
func (s *Server) first(t *ticket, form convert.Outcome) (text string, isError bool) {
	settles, ok := t.asking.(interface {
		Settle(o convert.Outcome, by string) convert.Outcome
	})
	if ok && !t.ended() {
		settles.Settle(form, formName)
	} else {
		t.cancel(convert.ErrWithdrawn)
	}
	<-t.done
	if t.outcome.Status.ByPerson() {
		return s.fetch(t)
	}
	s.leave(t, fetch)
	return resultText(t.call, form)
}

// formOutcome reads a reply to the form. An error means that it is none: some clients
// decline by themselves, at once, where nobody sits.
func formOutcome(call convert.Call, given *sdk.ElicitResult, shown time.Time) (convert.Outcome, error) {
	reply, err := json.Marshal(map[string]any{"action": given.Action, "content": given.Content})
	if err != nil {
		return convert.Outcome{}, err
	}
	o, err := ask.FormOutcome(call, reply)
	switch {
	case err == nil && o.Status == convert.Failed:
		err = o.Err()
	case err == nil && o.Status != convert.Answered && seen.Judge(seen.Reply{Evidence: seen.Taken, After: time.Since(shown)}) != seen.Counts:
		err = errors.New("the client declined its form before anybody can have read it")
	}
	return o, err
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
