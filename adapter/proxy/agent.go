package proxy

import (
	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"
)

// fromAgent looks at a line of the agent.
func (p *proxy) fromAgent(line []byte, m *message) act {
	if m.isResponse() {
		return p.answered(line, m)
	}
	switch method := m.name(); {
	case method == acp.ClientMethodSessionUpdate:
		p.update(line)
	case method == cancelMethod:
		if p.withdraw([]byte(gjson.GetBytes(m.params, "requestId").Raw)) {
			return drop
		}
		return nil
	case method == acp.ClientMethodElicitationComplete:
		if !p.opensURLs() { // it was asked in another way
			return drop
		}
	case m.isRequest():
		if asked := p.asked(line, m, method); asked != nil {
			return asked
		}
		p.mu.Lock()
		p.passed.add(m.id)
		p.mu.Unlock()
	}
	if p.holds.Load() > 0 && p.keep(line, gjson.GetBytes(line, "params")) {
		return drop
	}
	return nil
}

// answered takes note of what the agent answers.
func (p *proxy) answered(line []byte, m *message) act {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return drop // it has an answer
	}
	key := idKey(m.id)
	r := p.awaited[key]
	delete(p.awaited, key)
	switch {
	case r == nil:
		// A prompt that the editor does not wait for any more.
		for id, s := range p.sessions {
			if s.has(key) {
				return p.promptEnded(line, m, id)
			}
		}
	case r.method == acp.AgentMethodSessionPrompt:
		return p.promptEnded(line, m, r.session)
	case r.method == acp.AgentMethodSessionClose, r.method == acp.AgentMethodSessionDelete:
		if m.result != nil {
			p.closed(r.session)
		}
	case r.dir != "":
		p.opened(r, m)
	case r.method == acp.AgentMethodInitialize && m.result != nil:
		p.overHTTP = gjson.GetBytes(m.result, "agentCapabilities.mcpCapabilities.http").Bool()
		if p.opts.Agent.Name == "" {
			p.profile = p.profile.named(m.result)
		}
	}
	return nil
}

func (p *proxy) opensURLs() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.urls
}
