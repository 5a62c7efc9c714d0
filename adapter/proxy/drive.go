package proxy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
	machine "github.com/acp-bridge/acp-bridge/internal/session"
	"github.com/acp-bridge/acp-bridge/internal/typed"
)

// apply lets something happen to a session, and does what follows. Line is that
// which brought the event, nil if none did; what is returned goes on in its place.
func (p *proxy) apply(s *session, ev machine.Event, line []byte) (pass []byte) {
	words := func(prompt int) typed.Words { return s.prompts[prompt].words }
	s.state.Apply(ev, words, func(e machine.Effect) machine.Event {
		p.resume(s) // before anything else is said
		lines, next := p.perform(s, ev, line, e)
		pass = append(pass, lines...)
		return next
	})
	p.resume(s)
	return pass
}

// happens is a step that applies an event that no line brings.
func (p *proxy) happens(s *session, ev machine.Event) {
	p.Step(func() { p.apply(s, ev, nil) })
}

// perform does what the state calls for. It does not block. It returns what goes
// on in the place of the event's line, and what happens next.
func (p *proxy) perform(s *session, ev machine.Event, line []byte, e machine.Effect) (pass []byte, next machine.Event) {
	switch e := e.(type) {
	case machine.Send:
		return p.send(s, e.Key, line), nil
	case machine.Finish:
		_, inPlace := ev.(machine.PromptEnded)
		return p.finish(s, e, inPlace), nil
	case machine.TakeBack:
		return takeBack(line, s.prompts[e.Key].id), nil
	case machine.Interrupt:
		if _, told := ev.(machine.CancelCame); !told {
			p.agent.post(notificationLine(acp.AgentMethodSessionCancel, []byte(`{"sessionId":`+string(quote(s.id))+`}`)))
		}
		return nil, machine.InterruptDone{N: e.N}
	case machine.StartGrace:
		time.AfterFunc(cmp.Or(p.opts.CancelGrace, 10*time.Second), func() {
			if p.ctx.Err() == nil {
				p.happens(s, machine.GraceOver(e))
			}
		})
	case machine.GiveUp:
		p.log.Warn("the agent did not honour a cancel; its prompts end without it", "session", s.id)
	case machine.Hear:
		s.prompts[e.Prompt].line = nil
	case machine.Withdraw, machine.ShowAgain:
		p.calls.giveUp() // the editor knows before the agent says anything about it
	case machine.WrapUp: // the agent has drawn it itself
		return nil, machine.TurnWrapped{}
	case machine.Rest:
		p.rests(s, e.How)
	}
	return nil, nil
}

// send gives a prompt to the agent: that which has just come as it is.
func (p *proxy) send(s *session, key int, line []byte) []byte {
	r := s.prompts[key]
	r.given = true
	defer func() { r.line = nil }()
	if line != nil && len(r.line) > 0 && &r.line[0] == &line[0] {
		return line
	}
	p.agent.post(bytes.TrimSpace(r.line))
	return nil
}

// finish answers a prompt of the editor. If the agent has just done so, that goes
// on as it is.
func (p *proxy) finish(s *session, e machine.Finish, inPlace bool) []byte {
	r := s.prompts[e.Key]
	r.ended = true
	s.drop(r)
	delete(p.awaited, r.id)
	line := endLine(r.id, e.How)
	if e.How.Raw != "" && inPlace {
		return line
	}
	p.editor.postLines(line)
	return nil
}

// endLine is the response to a prompt.
func endLine(id string, how machine.Ending) []byte {
	if how.Raw != "" {
		raw := []byte(how.Raw)
		if m, ok := scan(raw); ok && idKey(m.id) == id {
			return raw
		}
		return append(edit(bytes.TrimSpace(raw), func([]byte) []byte { return []byte(id) }, "id"), '\n')
	}
	if how.Err != nil {
		return append(errorLine(id, ndjson.Internal, how.Err.Error()), '\n')
	}
	result := map[string]any{"stopReason": how.Reason}
	if how.WaitingFor != "" {
		result["_meta"] = map[string]any{"acp-bridge": map[string]any{"waitingFor": how.WaitingFor}}
	}
	body, _ := json.Marshal(result)
	return append(resultLine(id, body), '\n')
}

// takeBack is the editor's word that it takes a prompt back, as the agent knows
// that.
func takeBack(line []byte, id string) []byte {
	params := gjson.GetBytes(line, "params")
	if idKey([]byte(params.Get("requestId").Raw)) == id {
		return line
	}
	changed := edit([]byte(params.Raw), func([]byte) []byte { return []byte(id) }, "requestId")
	return append(edit(bytes.TrimSpace(line), func([]byte) []byte { return changed }, "params"), '\n')
}
