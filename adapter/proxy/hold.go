package proxy

import (
	"bytes"
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
	machine "github.com/acp-bridge/acp-bridge/internal/session"
)

// maxHeld is how much is held of what an agent says in a session while no prompt
// runs. What is more goes to the editor at once: an agent that is not read any
// more would stop its other sessions, too.
const maxHeld = 8 << 20

// hold begins to keep back what the agent says.
func (p *proxy) hold(s *session) {
	if !s.holding {
		s.holding = true
		p.holds.Add(1)
	}
}

// holdUnseen does so where the agent asks for a permission that the editor does not show
// before its next prompt. What sub-agents say in sessions of their own is kept in its order.
func (p *proxy) holdUnseen(id string) {
	if s := p.sessions[p.typedIn(id)]; s != nil && s.state.Unseen() {
		s.unseen = true
		p.hold(s)
	}
}

// resume sends what was kept back, once no question waits in the conversation, and the
// editor shows it.
func (p *proxy) resume(s *session) {
	if s.unseen = s.unseen && s.state.Unseen(); !s.unseen && !s.state.Parked() {
		p.release(s)
	}
}

// release sends what was kept back.
func (p *proxy) release(s *session) {
	if s.holding {
		s.holding = false
		p.holds.Add(-1)
		p.editor.postLines(s.held)
		s.held = nil
	}
}

// keep keeps a line of the agent back if its session is held, and reports
// whether it did. What does not belong to a turn is not kept, nor is what an agent
// says of the past when a session is opened.
func (p *proxy) keep(line []byte, params gjson.Result) bool {
	switch params.Get("update.sessionUpdate").Str {
	case "current_mode_update", "config_option_update", "available_commands_update", "session_info_update":
		return false
	}
	id := params.Get("sessionId").Str
	s := p.sessions[p.typedIn(id)]
	if s == nil || !s.holding || s.opens() != nil || s.id != id && !s.unseen {
		return false
	}
	if len(s.held)+len(line) > maxHeld {
		p.log.Warn("the agent says a lot while a question waits: the editor gets it outside of a turn", "session", s.id)
		p.release(s)
		return false
	}
	s.held = append(s.held, line...)
	return true
}

// cancelMethod takes a request back, in either direction.
const cancelMethod = "$/cancel_request"

// withdraw ends a request that the agent takes back, and reports whether it is
// one that the editor knows nothing of: a question that is answered here, or a
// request that is held. The agent gets an answer all the same.
func (p *proxy) withdraw(id []byte, why error) bool {
	key := idKey(id)
	if q := p.open[key]; q != nil {
		if why != nil {
			why = fmt.Errorf("%w: %w", machine.ErrWithdrawn, why)
		}
		p.apply(q.in, machine.RequestWithdrawn{Key: q.Key, Why: why}, nil)
		return true
	}
	raw := p.unhold(key)
	if raw == nil {
		return false
	}
	p.passed.take(raw)
	p.agent.post(errorLine(string(raw), ndjson.Cancelled, "Cancelled"))
	return true
}

// unhold takes a request out of what is held, and returns its id; nil if it is not
// there.
func (p *proxy) unhold(key string) (id []byte) {
	for _, s := range p.sessions {
		var rest []byte
		for line := range bytes.Lines(s.held) {
			if m, ok := scan(line); ok && id == nil && m.isRequest() && idKey(m.id) == key {
				id = bytes.Clone(m.id)
				continue
			}
			rest = append(rest, line...)
		}
		s.held = rest
	}
	return id
}
