package proxy

import (
	"bytes"
	"encoding/json"

	"github.com/tidwall/gjson"
)

// session is what is known of a conversation.
type session struct {
	id string
	// tools are the tool calls that the agent has shown and not ended, with the
	// input of those that ask something.
	tools map[string]json.RawMessage
}

// maxTools bounds what is remembered of an agent that ends none of its tool
// calls.
const maxTools = 10_000

// session returns the session with this id. mu is held.
func (p *proxy) session(id string) *session {
	s := p.sessions[id]
	if s == nil {
		s = &session{id: id, tools: map[string]json.RawMessage{}}
		p.sessions[id] = s
	}
	return s
}

var toolCallWord = []byte(`"tool_call`)

// update keeps track of tool calls. Nearly all updates are something else.
func (p *proxy) update(line []byte) {
	if !bytes.Contains(line, toolCallWord) {
		return
	}
	params := gjson.GetBytes(line, "params")
	update := params.Get("update")
	kind := update.Get("sessionUpdate").Str
	if kind != "tool_call" && kind != "tool_call_update" {
		return
	}
	id, status := update.Get("toolCallId").Str, update.Get("status").Str
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.session(params.Get("sessionId").Str)
	switch input := update.Get("rawInput"); {
	case status == "completed" || status == "failed":
		delete(s.tools, id)
	case len(s.tools) >= maxTools:
	case input.Get("questions").Exists():
		s.tools[id] = json.RawMessage(input.Raw)
	default:
		s.tools[id] = s.tools[id]
	}
}

// shows reports whether the editor knows a tool call from the agent.
func (p *proxy) shows(session, tool string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.sessions[session]
	if s == nil {
		return false
	}
	_, ok := s.tools[tool]
	return ok
}

// input is that of a tool call that asks something, nil if it is not known.
func (p *proxy) input(session, tool string) json.RawMessage {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.sessions[session]; s != nil {
		return s.tools[tool]
	}
	return nil
}
