package proxy

import (
	"bytes"
	"encoding/json"
	"errors"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	machine "github.com/acp-bridge/acp-bridge/internal/session"
	"github.com/acp-bridge/acp-bridge/internal/typed"
)

// prompt is a session/prompt of the editor. It is known until both have done with
// it.
type prompt struct {
	key   int
	id    string // under which both know it
	line  []byte // as it came, until the agent has it
	words typed.Words
	given bool // the agent has it
	ended bool // the editor has its end
}

// said is what the user says with a prompt. What cannot be read of it counts as
// text.
func (r *prompt) said() []acp.ContentBlock {
	params := gjson.GetBytes(r.line, "params")
	var read struct {
		Prompt []acp.ContentBlock `json:"prompt"`
	}
	if json.Unmarshal([]byte(params.Raw), &read) == nil {
		return read.Prompt
	}
	var blocks []acp.ContentBlock
	for _, b := range params.Get("prompt").Array() {
		blocks = append(blocks, acp.TextBlock(b.Get("text").String()))
	}
	return blocks
}

// drop forgets a prompt that has ended for both.
func (s *session) drop(r *prompt) {
	if r.ended && !r.given {
		delete(s.prompts, r.key)
	}
}

// prompt takes a session/prompt. It answers the question in the conversation,
// takes the place of one that the editor shows, or is for the agent.
func (p *proxy) prompt(line []byte, m *message) act {
	id, name := idKey(m.id), gjson.GetBytes(m.params, "sessionId").String()
	return p.acting(func() []byte {
		s := p.session(name)
		r := &prompt{key: s.state.NextKey(), id: id, line: line}
		said := r.said()
		if p.known.Tells(said) {
			p.meet(p.client, said)
		}
		r.words = s.typed.Read(said)
		s.prompts[r.key] = r
		p.about.prompt(name, r.words.String())
		pass := p.apply(s, machine.PromptCame{Key: r.key}, line)
		r.line = bytes.Clone(r.line) // it waits, if it still has one
		return pass
	})
}

// given finds a prompt that the agent has.
func (p *proxy) given(id string) (s *session, found *prompt) {
	for _, of := range p.sessions {
		for _, r := range of.prompts {
			if r.given && r.id == id && (found == nil || r.key < found.key) {
				s, found = of, r
			}
		}
	}
	return s, found
}

// promptEnded takes the agent's answer to a prompt: the editor may wait for it
// under another id, or not at all.
func (p *proxy) promptEnded(line []byte, m *message) act {
	id := idKey(m.id)
	how := machine.Ending{Reason: acp.StopReason(gjson.GetBytes(m.result, "stopReason").Str), Raw: string(line)}
	if m.err != nil {
		how.Err = errPromptFailed
	}
	return p.acting(func() []byte {
		s, r := p.given(id)
		if r == nil { // it was dropped at this moment
			return nil
		}
		r.given = false
		s.drop(r)
		p.turnOver(s)
		pass := p.apply(s, machine.PromptEnded{Key: r.key, How: how}, line)
		p.forget(s)
		return pass
	})
}

var errPromptFailed = errors.New("the agent failed")

// cancel takes a session/cancel. The editor learns first that it is asked no
// more, so that nothing that the agent says of it comes before. The agent learns
// of the cancel before it learns that its questions have no answer: that is a step
// behind this one.
func (p *proxy) cancel(line []byte, m *message) act {
	id := gjson.GetBytes(m.params, "sessionId").String()
	return p.acting(func() []byte {
		s := p.session(id)
		p.noPermits(adapter.Words(machine.ErrTurnCancelled), ofSession(id))
		p.stopPart(s, machine.ErrTurnCancelled)
		p.apply(s, machine.CancelCame{}, nil)
		p.agent.postLines(line)
		return nil
	})
}

// cancelRequest takes a request of the editor back. The agent may know a prompt
// under another id, or not at all.
func (p *proxy) cancelRequest(line []byte, m *message) act {
	key := idKey([]byte(gjson.GetBytes(m.params, "requestId").Raw))
	return p.acting(func() []byte {
		for _, s := range p.sessions {
			for _, r := range s.prompts {
				if r.id == key && !r.ended {
					return p.apply(s, machine.PromptTaken{Key: r.key}, line)
				}
			}
		}
		return line
	})
}
