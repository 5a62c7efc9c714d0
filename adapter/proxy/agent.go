package proxy

import (
	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"
)

// fromAgent looks at a line of the agent.
func (p *proxy) fromAgent(line []byte, m *message) act {
	if m.isResponse() {
		p.answered(m)
		return nil
	}
	switch method := m.name(); {
	case method == acp.ClientMethodSessionUpdate:
		p.update(line)
	case method == "$/cancel_request":
		if p.withdraw(gjson.GetBytes(m.params, "requestId").Raw) {
			return drop
		}
	case m.isRequest():
		return p.asked(line, m, method)
	}
	return nil
}

// answered takes note of what the agent says to the editor.
func (p *proxy) answered(m *message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.awaited[string(m.id)]
	delete(p.awaited, string(m.id))
	if r == nil || m.result == nil {
		return
	}
	if r.method == acp.AgentMethodInitialize {
		p.profile = p.profile.named(m.result)
	}
}
