package proxy

import (
	"context"
	"encoding/json"
	"errors"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	front "github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// parked is a question in the conversation that waits for the next prompt.
type parked struct {
	reply chan reaction // holds one
}

// reaction is a prompt that answers a question. Stale means that it may have been
// meant for another one, which is gone.
type reaction struct {
	said  []acp.ContentBlock
	stale bool
}

// maxHeld is how much is held of what an agent says in a session while no prompt
// runs. What is more goes to the editor at once: an agent that is not read any
// more would stop its other sessions, too.
const maxHeld = 8 << 20

// withdrawnRemark says that a question in the conversation is gone.
const withdrawnRemark = "\n\nThe agent has withdrawn this question. It needs no answer.\n\n"

// staleRemark says why words were not taken for an answer.
const staleRemark = "An earlier question is no longer open, so your last message was not taken as an answer. This is the question that is open now:\n\n"

// AskInConversation shows a question in the conversation, ends the prompt that
// runs, and waits for the words of the next one.
func (e *editor) AskInConversation(ctx context.Context, m adapter.Message) (string, error) {
	p, k := e.p, &parked{reply: make(chan reaction, 1)}
	question := m.Text
	for {
		if err := p.park(ctx, m, k); err != nil {
			return "", err
		}
		select {
		case r := <-k.reply:
			if !r.stale {
				return front.PromptWords(r.said, m.Means), nil
			}
			m.Text = staleRemark + question
			continue
		case <-ctx.Done():
		}
		break
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.session(m.Session)
	if s.parked == k {
		s.parked, s.stale = nil, true
	}
	if errors.Is(context.Cause(ctx), errWithdrawn) {
		p.say(m.Session, withdrawnRemark)
	}
	p.release(s)
	return "", context.Cause(ctx)
}

// park makes a question the one that the next prompt answers.
func (p *proxy) park(ctx context.Context, m adapter.Message, k *parked) error {
	// Behind all that the agent has said so far.
	p.passing.Lock()
	defer p.passing.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.session(m.Session)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case len(s.waiting) > 0 || s.stopping: // typed before the question was there
		return convert.ErrCancelled
	}
	p.say(m.Session, "\n\n"+m.Text)
	s.parked = k
	p.hold(s)
	waiting, _ := json.Marshal(map[string]any{
		"stopReason": acp.StopReasonEndTurn,
		"_meta":      map[string]any{"acp-bridge": map[string]any{"waitingFor": m.ToolCallID}},
	})
	for _, r := range s.running {
		r.parked = true
	}
	p.endSeen(s, string(waiting))
	return nil
}

// say puts a text of ours into the conversation.
func (p *proxy) say(session, text string) {
	p.editor.post(notificationLine(acp.ClientMethodSessionUpdate, clean.JSON(map[string]any{
		"sessionId": session,
		"update": map[string]any{
			"sessionUpdate": "agent_message_chunk",
			"content":       map[string]any{"type": "text", "text": text},
		},
	})))
}

// answer hands a prompt's words to the question that waits for them. The turn
// goes on inside that prompt; where there is none, it ends with the question. mu
// is held.
func (p *proxy) answer(s *session, id string, said []acp.ContentBlock) {
	k, stale := s.parked, s.stale
	s.parked, s.stale = nil, false
	if n := len(s.running); n > 0 {
		s.running[n-1].as = id
	} else {
		s.answering = id
	}
	p.release(s)
	k.reply <- reaction{said, stale}
}

// hold begins to keep back what the agent says. mu is held.
func (p *proxy) hold(s *session) {
	if !s.holding {
		s.holding = true
		p.holds.Add(1)
	}
}

// release sends what was kept back. mu is held.
func (p *proxy) release(s *session) {
	if s.holding {
		s.holding = false
		p.holds.Add(-1)
		p.editor.postLines(s.held)
		s.held = nil
	}
}

// keep keeps a line of the agent back if its session is held, and reports
// whether it did. What does not belong to a turn is not kept.
func (p *proxy) keep(line []byte, params gjson.Result) bool {
	switch params.Get("update.sessionUpdate").Str {
	case "current_mode_update", "config_option_update", "available_commands_update", "session_info_update":
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.sessions[params.Get("sessionId").Str]
	if s == nil || !s.holding {
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

// readPrompt reads the content of a prompt. What cannot be read of it counts as
// text.
func readPrompt(params []byte) []acp.ContentBlock {
	var r struct {
		Prompt []acp.ContentBlock `json:"prompt"`
	}
	if json.Unmarshal(params, &r) == nil {
		return r.Prompt
	}
	var blocks []acp.ContentBlock
	for _, b := range gjson.GetBytes(params, "prompt").Array() {
		blocks = append(blocks, acp.TextBlock(b.Get("text").String()))
	}
	return blocks
}

// quote is s as a JSON string.
func quote(s string) []byte { return clean.JSON(s) }
