package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
)

// question is a request of the agent that is answered here.
type question struct {
	where
	cancel    context.CancelCauseFunc
	withdrawn bool // by the agent
}

// where is the place of a question. The editor shows it in session. A person types
// the answer in typed, which is another one for a sub-agent's: among its questions
// it has its turn, and it ends with them.
type where struct{ session, typed string }

// of reports whether it is a question of a session, or of a sub-agent's that works
// for it.
func (w where) of(session string) bool { return w.session == session || w.typed == session }

type whereKey struct{}

// asksIn is the place of the question that a context is of.
func asksIn(ctx context.Context) where {
	w, _ := ctx.Value(whereKey{}).(where)
	return w
}

// maxOpen is how many questions may be open at a time; further ones are refused.
const maxOpen = 1000

const codeCancelled = -32800

// errWithdrawn is why a question ends that the agent takes back.
var errWithdrawn = errors.New("the agent withdrew it")

// asking puts a question into its session's queue, at once. The function that
// it returns waits for the user and returns the line for the agent. ctx ends
// with the question.
type asking func(ctx context.Context, a *adapter.Adapter) (wait func() []byte)

// asked looks at a request of the agent. If it is a question, it goes no
// further.
func (p *proxy) asked(line []byte, m *message, method string) act {
	ask := p.question(bytes.TrimSpace(line), m, method)
	if ask == nil {
		return nil
	}
	id, session := string(m.id), p.sessionOf(m)
	if p.opts.RefuseSubAgents && p.asksForAnother(session, m) {
		ask = func(context.Context, *adapter.Adapter) func() []byte {
			return func() []byte { return errorLine(id, codeInternal, refusedSubAgent) }
		}
	}
	return func(func([]byte) error) error {
		if session == "" { // an editor shows nothing outside of one
			p.agent.post(errorLine(id, codeInvalidParams, errNoSession.Error()))
			return nil
		}
		p.start(id, session, ask)
		return nil
	}
}

// parentMeta is where an agent says of a tool call, or of a request, in which
// other tool call the sub-agent works that makes it.
const parentMeta = "_meta.claudeCode.parentToolUseId"

// refusedSubAgent is what a sub-agent is told that may not ask.
const refusedSubAgent = adapter.ToolName + " is not available to sub-agents"

// asksForAnother reports whether a question is a sub-agent's.
func (p *proxy) asksForAnother(session string, m *message) bool {
	tool := gjson.GetBytes(m.params, "toolCallId").String()
	if tool == "" {
		tool = gjson.GetBytes(m.params, "toolCall.toolCallId").String()
	}
	return gjson.GetBytes(m.params, parentMeta).Str != "" || p.subAgentIn(session, tool)
}

// subAgentIn reports whether a sub-agent works in a tool call.
func (p *proxy) subAgentIn(session, tool string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.sessions[session]
	return s != nil && s.subAgents[tool]
}

// question returns how a request is answered here, nil for one that is not.
func (p *proxy) question(line []byte, m *message, method string) asking {
	switch method {
	case acp.ClientMethodElicitationCreate:
		return p.form(m)
	case "_x.ai/mcp/elicit":
		return p.grokForm(m)
	case "_x.ai/ask_user_question":
		return p.inDialect("grok", line, m)
	case "_x.ai/exit_plan_mode":
		return p.inDialect("grok-plan", line, m)
	case "cursor/ask_question":
		return p.inDialect("cursor", line, m)
	case acp.ClientMethodSessionRequestPermission:
		return p.permission(line, m)
	}
	return nil
}

// permission takes permission requests that are questions. Whether a choice is
// one cannot be seen from its shape alone: it is only for agents that are known
// to ask so.
func (p *proxy) permission(line []byte, m *message) asking {
	if line := p.allowed(m); line != nil {
		return func(context.Context, *adapter.Adapter) func() []byte { return func() []byte { return line } }
	}
	name, err := dialect.Recognise(line)
	if err != nil || name == "choice" && !p.knows().Choices {
		return nil
	}
	return p.inDialect(name, line, m)
}

// inDialect asks a call that is written in a dialect. One that cannot be read is
// refused, in words that the model may get to see.
func (p *proxy) inDialect(name string, line []byte, m *message) asking {
	id := string(m.id)
	req, err := dialect.Decode(bytes.Clone(line), name)
	return func(ctx context.Context, a *adapter.Adapter) func() []byte {
		if err != nil {
			return refusal(id, err)
		}
		call := req.Call
		call.Session = asksIn(ctx).typed
		wait := a.Post(ctx, call)
		return func() []byte {
			outcome, _ := wait()
			return dialect.Encode(req, dialect.Reply{Outcome: outcome}).Body
		}
	}
}

// refusal answers a request that cannot be read.
func refusal(id string, err error) func() []byte {
	return func() []byte { return errorLine(id, codeInvalidParams, err.Error()) }
}

const codeInvalidParams = -32602

var errNoSession = errors.New("expected a sessionId: it is not known where to ask")

// sessionOf is where a request of the agent belongs. One that does not say so
// belongs to that of the request or of the tool call that it names, or to the
// only session there is.
func (p *proxy) sessionOf(m *message) string {
	if id := gjson.GetBytes(m.params, "sessionId"); id.Type == gjson.String {
		return id.Str
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.awaited[idKey([]byte(gjson.GetBytes(m.params, "requestId").Raw))]; r != nil {
		return r.session
	}
	tool := gjson.GetBytes(m.params, "toolCallId").String()
	var shows, all []string
	for id, s := range p.sessions {
		all = append(all, id)
		if s.tools[tool] {
			shows = append(shows, id)
		}
	}
	switch {
	case len(shows) == 1:
		return shows[0]
	case len(all) == 1:
		return all[0]
	}
	return ""
}

// start asks, in a goroutine of its own, and answers the agent.
func (p *proxy) start(id, session string, ask asking) {
	ctx, asker, leave, err := p.enter(p.ctx, id, session)
	if err != nil {
		p.log.Warn("a question of the agent was refused", "err", err)
		p.agent.post(errorLine(id, codeInternal, "The user could not be asked: "+adapter.Words(err)))
		return
	}
	p.tellNoWords(asksIn(ctx).typed)
	wait := ask(ctx, asker)
	go func() {
		line := p.wait(id, wait)
		leave(line)
	}()
}

// noWordsRemark says why a question has no place for own words.
const noWordsRemark = "\n\nThis agent takes none but the answers that it offers. To say something else, dismiss the question and write it in your next message.\n\n"

// tellNoWords says so once in a session of an agent that is like that.
func (p *proxy) tellNoWords(session string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.session(session); p.profile.NoWords && !s.told {
		s.told = true
		p.say(session, noWordsRemark)
	}
}

// enter makes a question one of those that are open. Its context ends with ctx,
// when it is cancelled, and with the proxy. Leave takes it off the list, and
// tells the agent.
func (p *proxy) enter(ctx context.Context, id, session string) (_ context.Context, a *adapter.Adapter, leave func(line []byte), err error) {
	key := idKey([]byte(id))
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.asker == nil:
		return nil, nil, nil, errors.New("the editor has not said yet what it can do")
	case p.open[key] != nil:
		return nil, nil, nil, fmt.Errorf("request %s is open already", id)
	case len(p.open) >= maxOpen:
		return nil, nil, nil, fmt.Errorf("%d questions are open", maxOpen)
	case p.over, p.ctx.Err() != nil: // nobody waits for one more at the end
		return nil, nil, nil, errStopped
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(p.ctx, func() { cancel(context.Cause(p.ctx)) })
	at := where{session, p.typedIn(session)}
	ctx = context.WithValue(ctx, whereKey{}, at)
	q := &question{where: at, cancel: func(cause error) {
		cancel(cause)
		p.calls.giveUp() // the editor knows before the agent says anything about it
	}}
	p.open[key] = q
	p.asking.Add(1)
	return ctx, p.asker, func(line []byte) {
		defer p.asking.Done()
		p.mu.Lock()
		defer p.mu.Unlock()
		stop()
		cancel(nil)
		delete(p.open, key)
		if q.withdrawn {
			line = errorLine(id, codeCancelled, "Cancelled")
		}
		if line != nil {
			p.agent.post(line)
		}
		if s := p.sessions[at.typed]; s != nil { // not closed meanwhile
			p.endPrompt(s.answering, `{"stopReason":"end_turn"}`)
			s.answering = ""
			p.advance(s)
		}
		if s := p.sessions[session]; s != nil && session != at.typed {
			p.advance(s)
		}
	}, nil
}

// wait waits for an answer. A panic there is of one question.
func (p *proxy) wait(id string, wait func() []byte) (line []byte) {
	defer func() {
		if v := recover(); v != nil {
			p.log.Error("asking a question panicked", "panic", v)
			line = errorLine(id, codeInternal, "The user could not be asked")
		}
	}()
	return wait()
}

// withdrawAll is withdraw for all questions of a session. mu is held.
func (p *proxy) withdrawAll(s *session) {
	for _, q := range p.open {
		if q.of(s.id) {
			q.withdraw()
		}
	}
}

func (q *question) withdraw() {
	q.withdrawn = true
	q.cancel(fmt.Errorf("%w: %w", convert.ErrCancelled, errWithdrawn))
}

// cancelQuestions ends the open questions of a session. mu is held.
func (p *proxy) cancelQuestions(session string, cause error) {
	for _, q := range p.open {
		if q.of(session) {
			q.cancel(cause)
		}
	}
}
