package backend

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display"
	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

// part is a sub-agent that the editor has as a session of its own. An editor asks
// for that with subagents in its capabilities, a draft of ACP. Its calls, words and
// requests are those of its session, and the call that began it is not drawn: what
// it was told, and what it answers, are messages between the two sessions.
type part struct {
	id     string          // of its session: Claude Code's id of the sub-agent
	within string          // the part that it works for; empty for the session itself
	waits  map[string]bool // its requests that are open
	state  string
	end    object // how its work ended

	stopped bool // the user stopped it, as its transcript says
}

// What a part does, as the editor is told.
const (
	partRuns  = "running"
	partWaits = "requires_action"
	partIdle  = "idle"
)

type object = map[string]any

// launches reports whether a tool begins a sub-agent.
func launches(tool string) bool { return tool == "Agent" || tool == "Task" }

// partOf is the session of the sub-agent that a tool call began; empty is the
// session itself.
func (p *painter) partOf(call string) string {
	if x := p.launched[call]; x != nil {
		return x.id
	}
	return ""
}

// haveParts begins to show sub-agents as sessions.
func (p *painter) haveParts() {
	p.parts, p.launched = map[string]*part{}, map[string]*part{}
}

// beginPart shows a sub-agent as a session, or that it works again.
func (p *painter) beginPart(m claude.Message, a subAgent) {
	c := p.calls[a.call]
	if p.parts == nil || c == nil && m.Get("spawn_depth").Int() > 1 {
		return // whose it is must not be guessed
	}
	id := m.Get("task_id").String()
	x := p.parts[id]
	if x == nil {
		x = &part{id: id, waits: map[string]bool{}, state: partRuns}
		if c != nil {
			x.within = p.partOf(c.parent)
		}
		p.parts[id] = x
		p.publish(id)
		begun := object{
			"sessionUpdate": "subagent_update", "sessionId": id, "title": a.task, "description": m.Get("subagent_type").String(),
			"state": object{"state": partRuns},
		}
		if !p.past { // what is over cannot be cancelled
			begun["capabilities"] = object{"cancel": object{}}
		}
		p.out.UpdateOf(x.within, begun)
	} else {
		p.partIs(x, partRuns, nil)
	}
	p.launched[a.call] = x
	words := m.Get("prompt").String()
	if words == "" && c != nil {
		words = gjson.GetBytes(c.tool.Input, "prompt").String()
	}
	told := func(other string) object {
		return object{
			"sessionUpdate": "session_message", "messageId": a.call, "senderSessionId": p.sessionID(x.within), "recipientSessionId": id,
			"content": []any{object{"type": "text", "text": words}}, other: a.call,
		}
	}
	p.out.UpdateOf(x.within, told("recipientMessageId"))
	p.out.UpdateOf(id, told("senderMessageId"))
}

func (p *painter) sessionID(part string) string { return cmp.Or(part, p.id) }

// partIs says what a part does.
func (p *painter) partIs(x *part, state string, more object) {
	if x.state == state {
		return
	}
	x.state, x.end = state, nil
	if state == partIdle {
		x.end = merged(object{"state": state}, more)
	}
	p.out.UpdateOf(x.within, object{"sessionUpdate": "subagent_update", "sessionId": x.id, "state": merged(object{"state": state}, more)})
}

// merged is a with what b has.
func merged(a, b object) object {
	maps.Copy(a, b)
	return a
}

// partFailed is the state of a sub-agent that failed.
func partFailed(text string) object {
	return object{"stopReason": "error", "error": object{"code": ndjson.Internal, "message": text}}
}

// partEnded takes the end of a sub-agent.
func (p *painter) partEnded(m claude.Message) {
	x := p.parts[m.Get("task_id").String()]
	if x == nil {
		return
	}
	clear(x.waits)
	switch m.Get("status").Str {
	case "completed":
		p.partIs(x, partIdle, object{"stopReason": "end_turn"})
	case "failed":
		p.partIs(x, partIdle, partFailed(m.Get("summary").String()))
	default:
		p.partIs(x, partIdle, object{"stopReason": "cancelled"})
	}
}

// endParts says that nothing works any more, and how it ended if that is known.
func (p *painter) endParts(how object) {
	for _, x := range p.parts {
		p.partIs(x, partIdle, how)
	}
}

// partSpeaks shows a sub-agent's words in its session.
func (p *painter) partSpeaks(call, update, message, text string) {
	if id := p.partOf(call); id != "" && text != "" {
		p.out.UpdateOf(id, object{
			"sessionUpdate": update, "content": object{"type": "text", "text": text}, "messageId": message,
			"_meta": object{"claudeCode": object{"parentToolUseId": call}},
		})
	}
}

// partWorks notes that a sub-agent goes on, without a request that was withdrawn.
func (p *painter) partWorks(call string) {
	if x := p.launched[call]; x != nil && x.state == partWaits && len(x.waits) == 0 {
		p.partIs(x, partRuns, nil)
	}
}

// partAsks notes that a part waits for the user.
func (p *painter) partAsks(id, request string) {
	if x := p.parts[id]; x != nil {
		x.waits[request] = true
		p.partIs(x, partWaits, nil)
	}
}

// partHears notes that a request of a part is over. With an answer the part goes
// on; without one it most likely ends, see [painter.partWorks].
func (p *painter) partHears(id, request string, answered bool) {
	if x := p.parts[id]; x != nil && x.waits[request] {
		delete(x.waits, request)
		if len(x.waits) == 0 && answered {
			p.partIs(x, partRuns, nil)
		}
	}
}

// partForgets notes that a request was withdrawn. Its part ends, or works on.
func (p *painter) partForgets(request string) {
	for _, x := range p.parts {
		delete(x.waits, request)
	}
}

// handBack shows what a part answers, as a message: its own words where the CLI
// has them without what it tells the model about them.
func (p *painter) handBack(x *part, call string, content, own gjson.Result) {
	if own.IsArray() {
		content = own
	}
	var blocks []any
	add := func(text string) {
		if text = display.AgentWords(text); text != "" {
			blocks = append(blocks, object{"type": "text", "text": text})
		}
	}
	if content.Type == gjson.String {
		add(content.Str)
	}
	for _, b := range content.Array() {
		add(b.Get("text").String())
	}
	if len(blocks) > 0 {
		p.out.UpdateOf(x.within, object{
			"sessionUpdate": "session_message", "messageId": call + ":reply",
			"senderSessionId": x.id, "recipientSessionId": p.sessionID(x.within), "content": blocks,
		})
	}
}

// stopGrace is how long the CLI may take to answer that it stops a sub-agent.
const stopGrace = time.Minute

// StopPart implements [editor.Conversation].
func (s *conversation) StopPart(id string) bool {
	r := s.running.Load()
	if r == nil || !r.pump.painter.hasPart(id) {
		return false
	}
	go func() {
		ctx, cancel := context.WithTimeout(s.ctx, stopGrace)
		defer cancel()
		if _, err := r.proc.Control(ctx, "stop_task", object{"task_id": id}); err != nil {
			s.agent.log.Warn("a sub-agent could not be stopped", "session", s.id, "err", err)
		}
	}()
	return true
}

// publish lets everybody know of a part.
func (p *painter) publish(id string) {
	var ids []string
	if shown := p.shown.Load(); shown != nil {
		ids = *shown
	}
	ids = append(ids, id) // nobody who has the shorter list sees it
	p.shown.Store(&ids)
}

// hasPart reports whether there is a part of that id. Anybody may ask, and waits
// for nobody.
func (p *painter) hasPart(id string) bool {
	shown := p.shown.Load()
	return shown != nil && slices.Contains(*shown, id)
}
