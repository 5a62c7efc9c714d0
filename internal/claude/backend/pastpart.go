package backend

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/claude/transcript"
)

// partBegan shows a sub-agent of a transcript as a session, as the CLI would have
// said it. Its steps follow.
func (p *painter) partBegan(call string, a *transcript.Agent) {
	if p.parts == nil || a == nil {
		return
	}
	raw, err := json.Marshal(object{
		"type": claude.TypeSystem, "subtype": "task_started", "task_id": a.ID, "tool_use_id": call,
		"description": a.Task, "subagent_type": a.Type,
	})
	if err != nil {
		return
	}
	if m, ok := claude.ParseMessage(raw); ok {
		p.agentStarted(m)
	}
	if x := p.parts[a.ID]; x != nil {
		x.stopped = a.Stopped
	}
}

// partReturned takes the result of a call of a transcript: if it began a sub-agent
// that did not go to the background, that one has ended.
func (p *painter) partReturned(e transcript.Entry) {
	x := p.launched[e.ToolUseID]
	if x == nil || e.Message.Get("tool_use_result.status").Str == "async_launched" {
		return
	}
	result := e.Message.Get("message.content.0")
	text := result.Get("content").String()
	if result.Get("content").IsArray() {
		text = result.Get("content.0.text").String()
	}
	switch {
	case x.stopped, brokenOff(e.Message), forTheModel(text):
		p.partIs(x, partIdle, object{"stopReason": "cancelled"})
	case !result.Get("is_error").Bool():
		p.partIs(x, partIdle, object{"stopReason": "end_turn"})
	default:
		p.partIs(x, partIdle, partFailed(text))
	}
}

// pastParts are the sub-agents of a transcript, which has ended: none of them works
// any more.
func (p *painter) pastParts() []*part {
	for _, x := range p.parts {
		var how object
		if x.stopped {
			how = object{"stopReason": "cancelled"}
		}
		p.partIs(x, partIdle, how)
	}
	return slices.SortedFunc(maps.Values(p.parts), func(a, b *part) int { return strings.Compare(a.id, b.id) })
}

// tellPastParts says once more how the sub-agents of a transcript stand: what comes
// before the answer to session/load is history to the editor.
func (s *conversation) tellPastParts() {
	for _, x := range s.past {
		s.out.UpdateOf(x.within, object{"sessionUpdate": "subagent_update", "sessionId": x.id, "state": x.end})
	}
	s.past = nil
}
