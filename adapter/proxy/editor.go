package proxy

import (
	"bytes"
	"context"
	"encoding/json"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	front "github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/internal/conn"
	"github.com/acp-bridge/acp-bridge/internal/life"
	"github.com/acp-bridge/acp-bridge/internal/seen"
	machine "github.com/acp-bridge/acp-bridge/internal/session"
)

// fromEditor looks at a line of the editor.
func (p *proxy) fromEditor(line []byte, m *message) act {
	if m.isResponse() {
		if p.calls.settle(m) || p.late.take(m.id) || p.conditional(m) {
			return drop
		}
		if w := p.permit[idKey(m.id)]; w != nil && !w.replied(m) {
			return drop
		}
		if !p.passed.take(m.id) {
			p.log.Warn("an answer to a request that was not made was left out")
			return drop
		}
		return nil
	}
	method := m.name()
	if m.isRequest() { // the agent has to answer it
		p.awaited[idKey(m.id)] = &request{
			method: method, session: gjson.GetBytes(m.params, "sessionId").String(), dir: gjson.GetBytes(m.params, "cwd").String(),
		}
	}
	switch method {
	case acp.AgentMethodInitialize:
		return p.initialize(line, m)
	case acp.AgentMethodSessionPrompt:
		if m.isRequest() {
			return p.prompt(line, m)
		}
	case acp.AgentMethodSessionNew, acp.AgentMethodSessionLoad, acp.AgentMethodSessionResume, acp.AgentMethodSessionFork:
		if m.isRequest() {
			return p.opens(line, m, method)
		}
	case acp.AgentMethodSessionCancel:
		return p.cancel(line, m)
	case cancelMethod:
		return p.cancelRequest(line, m)
	case acp.AgentMethodSessionClose:
		p.leaves(m, machine.ErrSessionClosed)
	case acp.AgentMethodSessionDelete:
		p.leaves(m, machine.ErrSessionDeleted)
	}
	return nil
}

// leaves takes a request that closes a session: with it ends what is open there, and the
// tools that there are now. Prompts that the agent has under the editor's own ids are the
// agent's to end.
func (p *proxy) leaves(m *message, why error) {
	id := gjson.GetBytes(m.params, "sessionId").String()
	if m.isRequest() {
		p.awaited[idKey(m.id)].ends = p.tools.of(id)
	}
	p.noPermits(adapter.Words(why), ofSession(id))
	if s := p.sessions[id]; s != nil {
		p.stopPart(s, why)
		p.apply(s, machine.LeaveCame{Why: why}, nil)
	}
}

// initialize learns what the editor can do, and tells the agent that it has
// forms and opens addresses: what it has not is done here. Both sides are offered
// version 1, which is what is spoken here: the agent's response says so to an
// editor that knows more.
func (p *proxy) initialize(line []byte, m *message) act {
	said := conn.Version1(m.params)
	var r acp.InitializeRequest
	if err := json.Unmarshal(said, &r); err != nil {
		p.log.Warn("the editor's initialize has parts that cannot be read; they are passed over", "err", err)
	}
	p.meet(r, nil)
	params := edit(said, unlessSet("{}"), "clientCapabilities", "elicitation", "form")
	params = edit(params, unlessSet("{}"), "clientCapabilities", "elicitation", "url")
	return rewritten(line, "params", params)
}

// rewritten passes a line on with a member changed.
func rewritten(line []byte, key string, value []byte) act {
	changed := edit(bytes.TrimSpace(line), func([]byte) []byte { return value }, key)
	return func(pass func([]byte) error) error { return pass(append(changed, '\n')) }
}

// meet learns what the editor says of itself, or what its first prompt tells of one
// that has no name.
func (p *proxy) meet(r acp.InitializeRequest, prompt []acp.ContentBlock) {
	known, _ := front.Known(r.ClientInfo, prompt)
	p.client, p.known = r, known
	known.Meet(&p.calls.peer)
	o, _ := front.Options{First: p.opts.First, Guard: p.opts.Guard, TrustPrompts: p.opts.TrustPrompts, Now: p.opts.Now, Desk: p.opts.Desk, Logger: p.log}.Ask(r, known)
	o.Describe = p.about.describe
	p.forms, p.urls = o.Forms && o.First <= adapter.Form, o.URLs
	p.titlesOnly = o.TitlesOnly()
	p.asker = adapter.New(&asking{p: p}, &o)
}

// Settled implements [adapter.Settler]: the session knows before the next question
// has its turn. A no is for the agent to hear, and ends no turn here.
func (q *asking) Settled(convert.Outcome) {
	q.p.happens(q.in, machine.RequestSettled{Key: q.Key})
}

// Posts is for package adapter.
func (q *asking) Posts(it *desk.Item) { it.Name, it.Again = q.name, q.asksAgain }

// call asks the editor, if the question may still be shown. It is asked again where
// the session is opened anew: what comes of the first time then answers nothing.
func (q *asking) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	for showing := seen.Of(ctx); ; showing.Anew() {
		view := q.shows(ctx, q.p.Step, true, func() bool { return q.admit(machine.RequestShown{Key: q.Key}) })
		if view == nil {
			return nil, machine.Withdrawn(ctx)
		}
		raw, err := q.p.calls.call(view, method, params)
		if err == nil || view.Err() == nil || ctx.Err() != nil {
			return raw, err
		}
	}
}

func (q *asking) RequestPermission(ctx context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	r.SessionId = acp.SessionId(q.Shown)
	raw, err := q.call(ctx, acp.ClientMethodSessionRequestPermission, r)
	if err != nil {
		return acp.RequestPermissionResponse{}, err
	}
	return conn.DecodePermission(raw)
}

func (q *asking) CreateElicitation(ctx context.Context, request any) (json.RawMessage, error) {
	if form, ok := request.(ask.FormRequest); ok {
		form.SessionID = q.Shown
		request = form
	}
	return q.call(ctx, acp.ClientMethodElicitationCreate, request)
}

// SessionUpdate shows a question. Where the agent has shown its tool call
// already, the question is that tool call.
func (q *asking) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	n.SessionId = acp.SessionId(q.Shown)
	if t := n.Update.ToolCall; t != nil && q.knows(string(t.ToolCallId)) {
		n.Update = acp.SessionUpdate{ToolCallUpdate: &acp.SessionToolCallUpdate{
			Meta: t.Meta, Content: t.Content, Kind: &t.Kind, Locations: t.Locations,
			RawInput: t.RawInput, Status: &t.Status, Title: &t.Title, ToolCallId: t.ToolCallId,
		}}
	}
	if m := n.Update.AgentMessageChunk; m != nil && m.MessageId == nil {
		m.MessageId = acp.Ptr(life.UUID())
	}
	q.p.ends(q.Shown, n.Update.ToolCallUpdate)
	body, err := conn.Encode(n)
	if err != nil {
		return err
	}
	line := notificationLine(acp.ClientMethodSessionUpdate, body)
	if n.Update.ToolCall != nil {
		q.announced = bytes.Clone(line)
	}
	q.p.editor.post(line)
	return nil
}

// knows reports whether the agent has shown a tool call.
func (q *asking) knows(tool string) (shown bool) {
	q.p.Step(func() { shown = q.p.shows(q.Shown, tool) })
	return shown
}

func (q *asking) Done() <-chan struct{} { return q.p.ctx.Done() }
