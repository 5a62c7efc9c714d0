package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
)

// session is what is known of a conversation. Everything in it is guarded by
// the proxy's mu.
type session struct {
	id string
	// within is the session that this one, a sub-agent's, works for. Nobody can
	// type in it.
	within string
	// dir is where the agent works.
	dir string
	// tools are the tool calls that the agent has shown and not ended.
	tools map[string]bool
	// inputs are those of tool calls that ask something.
	inputs map[string]json.RawMessage
	// subAgents are the tool calls in which a sub-agent works for the agent.
	subAgents map[string]bool
	// running are the prompts that the agent has.
	running []*prompt
	// waiting are prompts that the agent gets when it has ended what runs.
	waiting []*prompt
	// told is set when the user knows that the agent takes no own words.
	told bool
	// parked is the question in the conversation that the next prompt answers.
	parked *parked
	// stale is set when such a question went away without a reply: the user may be
	// writing one. Until the next prompt has come, none is taken for the reply to
	// another question.
	stale bool
	// answering is the prompt that has answered a question while the agent had
	// none, as the editor knows it; it ends with the question.
	answering string
	// stopping is set while the agent has prompts to end that the editor does not
	// wait for: the next one waits.
	stopping bool
	// failed is the error of a prompt that the agent ended while its question
	// waited in the conversation: the next one ends with it, unsent. It may be
	// the answer.
	failed []byte
	// closed is set when the agent has closed the session.
	closed bool
	// holding keeps back what the agent says while no prompt runs.
	holding bool
	held    []byte
}

// prompt is a session/prompt of the editor.
type prompt struct {
	id   string // as the agent knows it
	as   string // under which id the editor waits for its end; "" for none
	line []byte // of one that waits
	// parked is set when it was ended for a question in the conversation.
	parked bool
}

// maxTools bounds what is remembered of an agent that ends none of its tool
// calls.
const maxTools = 10_000

// session returns the session with this id. mu is held.
func (p *proxy) session(id string) *session {
	s := p.sessions[id]
	if s == nil {
		s = &session{id: id, tools: map[string]bool{}, inputs: map[string]json.RawMessage{}, subAgents: map[string]bool{}}
		p.sessions[id] = s
	}
	return s
}

var toolCallWord, subAgentWord = []byte(`"tool_call`), []byte(`"subagent_update"`)

// update keeps track of tool calls and sub-agents. Nearly all updates are something
// else.
func (p *proxy) update(line []byte) {
	if !bytes.Contains(line, toolCallWord) && !bytes.Contains(line, subAgentWord) {
		return
	}
	params := gjson.GetBytes(line, "params")
	update := params.Get("update")
	kind := update.Get("sessionUpdate").Str
	session, id := params.Get("sessionId").Str, update.Get("toolCallId").Str
	if kind == "subagent_update" {
		p.worksFor(update.Get("sessionId").Str, session)
		return
	}
	if kind != "tool_call" && kind != "tool_call_update" || session == "" {
		return
	}
	status, input := update.Get("status").Str, update.Get("rawInput")
	p.track(session, id, status, input, update.Get(parentMeta).Str != "")
	p.asksAside(session, id, status, input)
}

// worksFor notes the session that a sub-agent's works for.
func (p *proxy) worksFor(session, within string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if session != "" && within != "" && p.typedIn(within) != session {
		p.session(session).within = within
	}
}

// typedIn is the session in which a person types who is asked in this one. mu is
// held.
func (p *proxy) typedIn(session string) string {
	for s := p.sessions[session]; s != nil && s.within != ""; s = p.sessions[session] {
		session = s.within
	}
	return session
}

// track remembers a tool call for as long as it runs.
func (p *proxy) track(session, id, status string, input gjson.Result, subAgent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.session(session)
	switch {
	case status == "completed" || status == "failed":
		delete(s.tools, id)
		delete(s.inputs, id)
		delete(s.subAgents, id)
		if q := p.open[asideID(session, id)]; q != nil { // nobody waits for the answer
			q.cancel(fmt.Errorf("%w: %w", convert.ErrCancelled, errWithdrawn))
		}
		return
	case len(s.tools) >= maxTools:
		return
	}
	s.tools[id] = true
	if subAgent {
		s.subAgents[id] = true
	}
	if input.Get("questions").Exists() {
		s.inputs[id] = json.RawMessage(input.Raw)
	}
}

// shows reports whether the editor knows a tool call from the agent.
func (p *proxy) shows(session, tool string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.sessions[session]
	return s != nil && s.tools[tool]
}

// input is that of a tool call that asks something, nil if it is not known.
func (p *proxy) input(session, tool string) json.RawMessage {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.sessions[session]; s != nil {
		return s.inputs[tool]
	}
	return nil
}

// seen reports whether the editor waits for the end of a prompt that the agent
// has.
func (s *session) seen() bool {
	return slices.ContainsFunc(s.running, func(r *prompt) bool { return r.as != "" })
}

// unseen reports whether the agent has a prompt that was ended for a question in
// the conversation, and that no reply has taken up again: the question is gone.
func (s *session) unseen() bool {
	return slices.ContainsFunc(s.running, func(r *prompt) bool { return r.parked && r.as == "" })
}

// take removes a running prompt by the id that the agent has for it.
func (s *session) take(id string) *prompt {
	for i, r := range s.running {
		if r.id == id {
			s.running = slices.Delete(s.running, i, i+1)
			return r
		}
	}
	return nil
}

// has reports whether the agent has a prompt of this id.
func (s *session) has(id string) bool {
	return slices.ContainsFunc(s.running, func(r *prompt) bool { return r.id == id })
}

// errSessionClosed is why the questions of a closed session end here. Nobody
// dismissed them: elsewhere they stay open, for when the session is resumed.
var errSessionClosed = fmt.Errorf("the session was closed: %w", convert.ErrDisconnected)

// leaveSession ends what is open in a session that the editor closes. Prompts
// that the agent has under the editor's own ids are the agent's to end.
func (p *proxy) leaveSession(id string, cause error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cancelQuestions(id, cause)
	s := p.sessions[id]
	if s == nil {
		return
	}
	p.release(s)
	for _, w := range s.waiting {
		p.endPrompt(w.as, cancelledResult)
	}
	for _, r := range s.running {
		if r.as != r.id {
			p.endPrompt(r.as, cancelledResult)
			r.as = ""
		}
	}
	p.endPrompt(s.answering, cancelledResult)
	s.waiting, s.parked, s.failed, s.answering = nil, nil, nil, ""
	s.stopping = false
}

// closed takes the agent's word that it has closed a session. Until then the
// agent may go on with it, and have its question tool. mu is held.
func (p *proxy) closed(id string) {
	p.tools.endSession(id)
	if s := p.sessions[id]; s != nil {
		s.closed = true
		p.forget(s)
	}
}

// forget drops a session that is closed, when the agent has ended its prompts.
// mu is held.
func (p *proxy) forget(s *session) {
	if s.closed && len(s.running) == 0 && p.sessions[s.id] == s {
		delete(p.sessions, s.id)
	}
}
