package proxy

import (
	"strings"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/conn"
)

// fromAgent looks at a line of the agent.
func (p *proxy) fromAgent(line []byte, m *message) act {
	if m.isResponse() {
		return p.answered(line, m)
	}
	switch method := m.name(); {
	case method == acp.ClientMethodSessionUpdate:
		return p.passUpdate(line, p.update(line))
	case method == cancelMethod:
		id := []byte(gjson.GetBytes(m.params, "requestId").Raw)
		why, said := conn.CancelCause(m.params), "The agent took it back"
		if why != nil {
			said += ": it was " + why.Error()
		}
		if !p.noPermit(p.permit[idKey(id)], said) || p.withdraw(id, why) {
			return drop
		}
		return nil
	case method == acp.ClientMethodElicitationComplete:
		if !p.urls { // it was asked in another way
			return drop
		}
	case m.isRequest():
		if act := p.takesQuestion(line, m, method); act != nil {
			return act
		}
		p.passed.add(m.id)
		if strings.HasPrefix(method, "fs/") || strings.HasPrefix(method, "terminal/") {
			return nil // nobody needs to see it, and the agent waits
		}
		if method == acp.ClientMethodSessionRequestPermission {
			p.awaitsPermission(line, m)
			p.asksPermission(m)
			p.holdUnseen(gjson.GetBytes(m.params, "sessionId").Str)
			if text := p.unseen(m); text != nil && (p.holds.Load() == 0 || !p.keep(text, gjson.GetBytes(text, "params"))) {
				return p.acting(func() []byte { return append(text, line...) })
			}
		}
	}
	if p.holds.Load() > 0 && p.keep(line, gjson.GetBytes(line, "params")) {
		return drop
	}
	return nil
}

// passUpdate passes an update on that was drawn anew, unless it is kept back.
func (p *proxy) passUpdate(line, drawn []byte) act {
	switch {
	case drawn == nil:
		return drop
	case p.holds.Load() > 0 && p.keep(drawn, gjson.GetBytes(drawn, "params")):
		return drop
	case &drawn[0] == &line[0]:
		return nil
	}
	return p.acting(func() []byte { return drawn })
}

// answered takes note of what the agent answers.
func (p *proxy) answered(line []byte, m *message) act {
	if p.over {
		return drop // it has an answer
	}
	key := idKey(m.id)
	if _, r := p.given(key); r != nil {
		return p.promptEnded(line, m)
	}
	r := p.awaited[key]
	delete(p.awaited, key)
	switch {
	case r == nil:
	case r.method == acp.AgentMethodSessionClose, r.method == acp.AgentMethodSessionDelete:
		if m.result != nil {
			p.closed(r)
		}
	case r.opened != nil:
		return p.opened(line, r, m)
	case r.method == acp.AgentMethodInitialize && m.result != nil:
		p.overHTTP = gjson.GetBytes(m.result, "agentCapabilities.mcpCapabilities.http").Bool()
		p.about.agent(gjson.GetBytes(m.result, "agentInfo"))
		p.takesNotes = gjson.GetBytes(m.result, "agentInfo.name").Str == "acp-bridge" // no other does
		if p.opts.Agent.Name == "" {
			p.profile = p.profile.named(m.result)
		}
	}
	return nil
}
