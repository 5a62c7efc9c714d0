package proxy

import (
	"bytes"

	"github.com/tidwall/gjson"
)

// cancelMethod takes a request back, in either direction.
const cancelMethod = "$/cancel_request"

// withdraw ends a request that the agent takes back, and reports whether it is
// one that the editor knows nothing of: a question that is answered here, or a
// request that is held. The agent gets an answer all the same.
func (p *proxy) withdraw(id []byte) bool {
	key := idKey(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	if q := p.open[key]; q != nil {
		q.withdraw()
		return true
	}
	for _, s := range p.sessions {
		if raw := s.unhold(key); raw != nil {
			p.passed.take(raw)
			p.agent.post(errorLine(string(raw), codeCancelled, "Cancelled"))
			return true
		}
	}
	return false
}

// unhold takes a request out of what is held, and returns its id; nil if it is not
// there.
func (s *session) unhold(key string) (id []byte) {
	var rest []byte
	for line := range bytes.Lines(s.held) {
		if m, ok := scan(line); ok && id == nil && m.isRequest() && idKey(m.id) == key {
			id = bytes.Clone(m.id)
			continue
		}
		rest = append(rest, line...)
	}
	if id != nil {
		s.held = rest
	}
	return id
}

// cancelRequest takes a request of the editor back. The agent may know a prompt
// under another id, or not at all.
func (p *proxy) cancelRequest(line []byte, m *message) act {
	key := idKey([]byte(gjson.GetBytes(m.params, "requestId").Raw))
	return func(pass func([]byte) error) error {
		p.mu.Lock()
		known, ours := p.cancelPrompt(key)
		p.mu.Unlock()
		switch {
		case ours:
			return nil
		case known != "" && known != key:
			params := edit(m.params, func([]byte) []byte { return []byte(known) }, "requestId")
			return rewritten(line, "params", params)(pass)
		}
		return pass(line)
	}
}

// cancelPrompt finds the prompt that the editor takes back: known is how the
// agent knows it, and ours means that the agent does not, and that it has ended
// here. mu is held.
func (p *proxy) cancelPrompt(key string) (known string, ours bool) {
	for _, s := range p.sessions {
		for _, r := range s.running {
			if r.as == key {
				return r.id, false
			}
		}
		for i, w := range s.waiting {
			if w.as == key {
				s.waiting = append(s.waiting[:i:i], s.waiting[i+1:]...)
				p.endPrompt(key, cancelledResult)
				return "", true
			}
		}
		if s.answering == key {
			p.cancelQuestions(s.id, errTurnCancelled)
			p.endPrompt(key, cancelledResult)
			s.answering = ""
			return "", true
		}
	}
	return "", false
}
