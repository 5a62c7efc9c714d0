package agent

import (
	"context"
	"slices"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/convert"
)

// parked is a question in the conversation that waits for the next prompt.
type parked struct {
	toolCallID string
	reply      chan string // holds one
}

// park shows a question in the conversation, ends the running prompt, and
// waits for the words of the next one.
func (s *session) park(ctx context.Context, m adapter.Message) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	k := &parked{toolCallID: m.ToolCallID, reply: make(chan string, 1)}
	open := s.claim(k)
	if open {
		s.out.text(messageChunk, "\n\n"+m.Text)
		s.out.hold()
		open = s.settle(k)
	}
	if !open { // a prompt typed before the question was there is no answer to it
		s.cancelTurn(false) // an interrupt could hit the prompt, which the CLI may have
		s.out.release()
		return "", convert.ErrCancelled
	}
	select {
	case words := <-k.reply:
		s.out.release() // an answer may come before the hold
		return words, nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	if s.parked == k {
		s.parked = nil
	}
	s.mu.Unlock()
	s.out.release()
	return "", context.Cause(ctx)
}

// claim makes a question the one that the next prompt answers. It reports false
// if another prompt is there already.
func (s *session) claim(k *parked) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.promptWaits() {
		return false
	}
	if s.turn == nil || !s.turn.cancelled {
		s.parked = k
	}
	return true
}

// settle ends the running prompt, now that the question is shown. It reports
// false if another prompt came meanwhile.
func (s *session) settle(k *parked) bool {
	e := stopped(acp.StopReasonEndTurn)
	e.response.Meta = map[string]any{"acp-bridge": map[string]any{"waitingFor": k.toolCallID}}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.parked != k || s.turn == nil || len(s.turn.prompts()) == 0 {
		return true // over already, or no prompt runs
	}
	if s.promptWaits() {
		return false
	}
	s.turn.finish(e)
	return true
}

// promptWaits reports whether a prompt is in line that is neither over nor known
// to the model. mu is held.
func (s *session) promptWaits() bool {
	return slices.ContainsFunc(s.line, func(p *prompt) bool {
		return !p.ended && !p.cancelled() && !p.started && (s.turn == nil || p != s.turn.owner)
	})
}

// answerParked hands a prompt to the question that waits for it. The turn goes
// on inside the prompt; where there is none, the prompt is over.
func (s *session) answerParked(p *prompt) bool {
	s.mu.Lock()
	k := s.parked
	if k == nil || p.cancelled() || s.turn != nil && len(s.turn.prompts()) > 0 { // it is not shown yet
		s.mu.Unlock()
		return false
	}
	s.parked = nil
	p.hand()
	if s.turn != nil {
		s.turn.owner = p
	} else {
		p.done <- stopped(acp.StopReasonEndTurn)
	}
	s.mu.Unlock()
	s.out.release()
	k.reply <- p.words
	return true
}

// takeDead returns why the CLI ended while a question waited, once.
func (s *session) takeDead() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.dead
	s.dead = nil
	return err
}

// isParked reports whether the next prompt answers a question.
func (s *session) isParked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.parked != nil
}
