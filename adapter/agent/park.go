package agent

import (
	"context"

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
	s.mu.Lock()
	waiting := len(s.line) > 1
	s.mu.Unlock()
	if waiting { // typed before the question was there: it is no answer to it
		s.cancelTurn(true)
		return "", convert.ErrCancelled
	}
	k := &parked{toolCallID: m.ToolCallID, reply: make(chan string, 1)}
	s.out.text(messageChunk, "\n\n"+m.Text)
	s.out.hold()
	e := stopped(acp.StopReasonEndTurn)
	e.response.Meta = map[string]any{"acp-bridge": map[string]any{"waitingFor": k.toolCallID}}
	s.mu.Lock()
	if s.turn != nil && !s.turn.cancelled {
		s.parked = k
		s.turn.finish(e)
	}
	s.mu.Unlock()
	select {
	case words := <-k.reply:
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

// answerParked hands a prompt to the question that waits for it. The turn goes
// on inside the prompt.
func (s *session) answerParked(p *prompt) bool {
	s.mu.Lock()
	k := s.parked
	if k == nil || s.turn == nil || p.cancelled() {
		s.mu.Unlock()
		return false
	}
	s.parked = nil
	s.turn.owner = p
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
