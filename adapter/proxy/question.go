package proxy

import (
	"bytes"
	"cmp"
	"errors"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

// poster puts a question into its session's queue, at once. The function that
// it returns waits for the user and returns the line for the agent.
type poster func(q *asking) (wait func() []byte)

// takesQuestion looks at a request of the agent. If it is a question, it goes no
// further.
func (p *proxy) takesQuestion(line []byte, m *message, method string) act {
	ask := p.question(bytes.TrimSpace(line), m, method)
	if ask == nil {
		return nil
	}
	id, session, again := string(m.id), p.sessionOf(m), asksAgain(gjson.ParseBytes(m.params))
	subAgent := p.asksForAnother(session, m)
	if p.opts.RefuseSubAgents && subAgent {
		ask = answersWith(errorLine(id, ndjson.Internal, refusedSubAgent))
	}
	return p.acting(func() []byte {
		if session == "" { // an editor shows nothing outside of one
			p.agent.post(errorLine(id, ndjson.InvalidParams, errNoSession.Error()))
			return nil
		}
		p.start(id, session, subAgent, func(q *asking) func() []byte {
			q.asksAgain = again
			return ask(q)
		})
		return nil
	})
}

// parentMeta is where an agent says of a tool call, or of a request, in which
// other tool call the sub-agent works that makes it.
const parentMeta = "_meta.claudeCode.parentToolUseId"

// asksAgain reports whether a bridge behind us says that it asks again, see [desk.Item].
func asksAgain(params gjson.Result) bool { return params.Get("_meta.acp-bridge-again").Bool() }

// refusedSubAgent is what a sub-agent is told that may not ask.
const refusedSubAgent = adapter.ToolName + " is not available to sub-agents"

// asksForAnother reports whether a question is a sub-agent's.
func (p *proxy) asksForAnother(session string, m *message) bool {
	tool := cmp.Or(gjson.GetBytes(m.params, "toolCallId").String(), gjson.GetBytes(m.params, "toolCall.toolCallId").String())
	return gjson.GetBytes(m.params, parentMeta).Str != "" || p.subAgentIn(session, tool)
}

// question returns how a request is answered here, nil for one that is not.
func (p *proxy) question(line []byte, m *message, method string) poster {
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
func (p *proxy) permission(line []byte, m *message) poster {
	if line := p.allowed(m); line != nil {
		return answersWith(line)
	}
	name, err := dialect.Recognise(line)
	if err != nil || name == "choice" && !p.profile.Choices {
		return nil
	}
	return p.inDialect(name, line, m)
}

// inDialect asks a call that is written in a dialect. One that cannot be read is
// refused, in words that the model may get to see.
func (p *proxy) inDialect(name string, line []byte, m *message) poster {
	id := string(m.id)
	req, err := dialect.Decode(bytes.Clone(line), name)
	return func(q *asking) func() []byte {
		if err != nil {
			return refusal(id, err)
		}
		call := req.Call
		call.Session = q.in.id
		wait := q.asker.Post(q.Ctx, call)
		return func() []byte {
			outcome, _ := wait()
			return dialect.Encode(req, dialect.Reply{Outcome: outcome}).Body
		}
	}
}

// answersWith asks nobody.
func answersWith(line []byte) poster {
	return func(*asking) func() []byte { return func() []byte { return line } }
}

// refusal answers a request that cannot be read.
func refusal(id string, err error) func() []byte {
	return func() []byte { return errorLine(id, ndjson.InvalidParams, err.Error()) }
}

var errNoSession = errors.New("expected a sessionId: it is not known where to ask")

// sessionOf is where a request of the agent belongs. One that does not say so
// belongs to that of the request or of the tool call that it names, or to the
// only session there is.
func (p *proxy) sessionOf(m *message) string {
	if id := gjson.GetBytes(m.params, "sessionId"); id.Type == gjson.String {
		return id.Str
	}
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

// start asks a question, and refuses one that cannot be asked. Of an agent that takes no own
// words that is said once in a session.
func (p *proxy) start(id, session string, apart bool, ask poster) {
	if s := p.session(p.typedIn(session)); p.profile.NoWords && !s.noWordsTold {
		s.noWordsTold = true
		p.say(s.id, noWordsRemark)
	}
	if _, err := p.enter(id, session, apart, ask); err != nil {
		p.log.Warn("a question of the agent was refused", "err", err)
		p.agent.post(errorLine(id, ndjson.Internal, "The user could not be asked: "+adapter.Words(err)))
	}
}

// noWordsRemark says why a question has no place for own words.
const noWordsRemark = "\n\nThis agent accepts only the answers that it offers. To say something else, dismiss the question and write it in your next message.\n\n"

// wait waits for an answer. A panic there is of one question.
func (p *proxy) wait(id string, wait func() []byte) (line []byte) {
	defer func() {
		if v := recover(); v != nil {
			p.log.Error("asking a question panicked", "panic", v)
			line = errorLine(id, ndjson.Internal, "The user could not be asked")
		}
	}()
	return wait()
}
