package proxy

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

// form asks what the agent, or an MCP server behind it, wants to know in a form.
func (p *proxy) form(m *message) poster {
	id, params, session := string(m.id), bytes.Clone(m.params), p.sessionOf(m)
	input := p.input(session, gjson.GetBytes(params, "toolCallId").String())
	form, err := ask.AgentForm{Params: params, Input: input}.Call()
	if p.passesForm(params, session, err) {
		return nil
	}
	return askForm(form, err, id, "action")
}

// passesForm reports whether the editor gets a form without a look at the answer:
// it shows forms, and this one belongs to no session (the agent wants to know
// something before there is one), or has fields that are not known here.
func (p *proxy) passesForm(params []byte, session string, err error) bool {
	unread := errors.Is(err, convert.ErrWrongType) || errors.Is(err, convert.ErrTooManyQuestions) || errors.Is(err, convert.ErrOptionCount)
	if gjson.GetBytes(params, "mode").Str == "url" {
		return p.urls && err == nil && session == ""
	}
	return p.forms && (unread || err == nil && session == "")
}

// grokForm asks what an MCP server of Grok's wants to know.
func (p *proxy) grokForm(m *message) poster {
	id, root := string(m.id), gjson.Parse(string(m.params))
	form, err := ask.ServerForm{
		Server: root.Get("serverName").String(), Message: root.Get("message").String(),
		Mode: root.Get("mode").String(), Schema: json.RawMessage(root.Get("requestedSchema").Raw),
		URL: root.Get("url").String(), ElicitationID: root.Get("elicitationId").String(),
	}.Call()
	return askForm(form, err, id, "outcome")
}

// askForm asks a form; key is the member of the reply that says how it ended. A
// failure is an error: decline and cancel are the user's.
func askForm(form ask.FormCall, err error, id, key string) poster {
	return func(q *asking) func() []byte {
		if err != nil {
			return refusal(id, err)
		}
		form.Session = q.in.id
		wait := q.asker.PostForm(q.Ctx, form)
		return func() []byte {
			reply, outcome := wait()
			if !outcome.Status.ByPerson() {
				return errorLine(id, ndjson.Internal, outcome.Message())
			}
			if key != "action" {
				action := gjson.GetBytes(reply, "action").Raw
				reply = edit(reply, func([]byte) []byte { return []byte(action) }, key)
			}
			return resultLine(id, reply)
		}
	}
}
