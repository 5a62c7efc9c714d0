package proxy

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
)

// prompt takes a session/prompt. It answers the question in the conversation,
// takes the place of one that the editor shows, or is for the agent.
func (p *proxy) prompt(line []byte, m *message) act {
	id, said := idKey(m.id), readPrompt(m.params)
	session := gjson.GetBytes(m.params, "sessionId").String()
	return func(pass func([]byte) error) error {
		if p.takePrompt(session, id, said, line) {
			return nil
		}
		return pass(line)
	}
}

// takePrompt reports whether a prompt is not for the agent, or not yet.
func (p *proxy) takePrompt(session, id string, said []acp.ContentBlock, line []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.session(session)
	if s.parked != nil && s.failed == nil {
		p.answer(s, id, said)
		return true
	}
	s.stale = false
	if s.failed != nil {
		s.parked = nil
		p.release(s)
		p.fail(s, id)
		return true
	}
	if p.waits(s) {
		p.supersede(s)
	}
	next := &prompt{id: id, as: id}
	if s.stopping || len(s.waiting) > 0 || p.asks(s) || s.unseen() {
		next.line = bytes.TrimSpace(bytes.Clone(line))
		s.waiting = append(s.waiting, next)
		return true
	}
	p.release(s)
	s.running = append(s.running, next)
	return false
}

// fail ends a prompt, unsent, with the error of the one before it. mu is held.
func (p *proxy) fail(s *session, id string) {
	delete(p.awaited, id)
	p.editor.post([]byte(`{"jsonrpc":"2.0","id":` + id + `,"error":` + string(s.failed) + `}`))
	s.failed = nil
}

// asks reports whether a question of the session is open. mu is held.
func (p *proxy) asks(s *session) bool {
	for _, q := range p.open {
		if q.of(s.id) {
			return true
		}
	}
	return false
}

// waits reports whether the agent waits for the answer to a question of the
// session. mu is held.
func (p *proxy) waits(s *session) bool {
	for _, q := range p.open {
		if q.of(s.id) && !q.withdrawn {
			return true
		}
	}
	return false
}

// supersede ends what is asked, and the turn in which it is, for the prompt that
// comes. mu is held.
func (p *proxy) supersede(s *session) {
	p.cancelQuestions(s.id, convert.ErrCancelled)
	if len(s.running) == 0 || s.stopping {
		return
	}
	s.stopping = true
	p.agent.post(notificationLine(acp.AgentMethodSessionCancel, sessionParams(s.id)))
	time.AfterFunc(p.opts.cancelGrace(), func() { p.giveUp(s) })
}

// giveUp ends, for the editor, prompts that the agent does not end.
func (p *proxy) giveUp(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !s.stopping || p.ctx.Err() != nil {
		return
	}
	p.log.Warn("the agent did not honour a cancel; it gets the next prompt", "session", s.id)
	p.endSeen(s, cancelledResult)
	s.stopping = false
	p.advance(s)
}

// giveUpOn ends, for the editor, prompts that were cancelled and that the agent
// still has: it may be frozen.
func (p *proxy) giveUpOn(s *session, cancelled []*prompt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range cancelled {
		if p.ctx.Err() == nil && r.as != "" && s.has(r.id) {
			p.log.Warn("the agent did not honour a cancel; its prompt ends without it", "session", s.id)
			p.endPrompt(r.as, cancelledResult)
			r.as = ""
		}
	}
}

// errTurnCancelled is why questions end with a session/cancel.
var errTurnCancelled = fmt.Errorf("the turn was cancelled: %w", convert.ErrCancelled)

const cancelledResult = `{"stopReason":"cancelled"}`

// endSeen ends all prompts that the editor waits for; the agent goes on with
// them. mu is held.
func (p *proxy) endSeen(s *session, result string) {
	for _, r := range s.running {
		p.endPrompt(r.as, result)
		r.as = ""
	}
	p.endPrompt(s.answering, result)
	s.answering = ""
}

// endPrompt answers a prompt of the editor. mu is held.
func (p *proxy) endPrompt(id, result string) {
	if id != "" {
		delete(p.awaited, id)
		p.editor.post(resultLine(id, []byte(result)))
	}
}

// advance gives the agent the next prompt that waits, if it can have one. mu is
// held.
func (p *proxy) advance(s *session) {
	if len(s.waiting) == 0 || s.stopping || p.asks(s) || s.unseen() {
		return
	}
	next := s.waiting[0]
	s.waiting = s.waiting[1:]
	p.release(s)
	if s.failed != nil {
		p.fail(s, next.as)
		p.advance(s)
		return
	}
	s.running = append(s.running, next)
	p.agent.post(next.line)
	next.line = nil
}

// cancel takes a session/cancel. The editor learns first that it is asked no
// more, so that nothing that the agent says of it comes before. The agent learns
// of the cancel before it learns that its questions have no answer: that waits
// for mu.
func (p *proxy) cancel(line []byte, m *message) act {
	id := gjson.GetBytes(m.params, "sessionId").String()
	return func(func([]byte) error) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.cancelQuestions(id, errTurnCancelled)
		p.agent.postLines(line)
		s := p.session(id)
		for _, w := range s.waiting {
			p.endPrompt(w.as, cancelledResult)
		}
		s.waiting, s.parked, s.failed = nil, nil, nil
		switch {
		case len(s.running) == 0:
		case s.seen():
			cancelled := slices.Clone(s.running)
			time.AfterFunc(p.opts.cancelGrace(), func() { p.giveUpOn(s, cancelled) })
		default:
			s.stopping = true
			time.AfterFunc(p.opts.cancelGrace(), func() { p.giveUp(s) })
		}
		return nil
	}
}

// promptEnded takes the agent's answer to a prompt: the editor may wait for it
// under another id, or not at all.
func (p *proxy) promptEnded(line []byte, m *message, session string) act {
	id := idKey(m.id)
	return func(pass func([]byte) error) error {
		p.mu.Lock()
		s := p.session(session)
		r := s.take(id)
		switch {
		case r == nil || r.as == id:
		case r.as == "":
			line = nil
			if r.parked && !s.stopping && m.err != nil {
				s.failed = bytes.Clone(m.err)
				p.withdrawAll(s)
			}
		default:
			delete(p.awaited, r.as)
			line = append(edit(bytes.TrimSpace(line), func([]byte) []byte { return []byte(r.as) }, "id"), '\n')
		}
		p.mu.Unlock()
		err := pass(line)
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(s.running) == 0 {
			s.stopping = false
			p.forget(s)
		}
		p.advance(s)
		return err
	}
}

func sessionParams(id string) []byte {
	return edit([]byte("{}"), func([]byte) []byte { return quote(id) }, "sessionId")
}
