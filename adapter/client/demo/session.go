package demo

import (
	"context"
	"sync"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/conn"
	"github.com/acp-bridge/acp-bridge/convert"
)

// session is one conversation. A turn of the script may take several prompts:
// a question in the conversation ends one and is answered by the next.
type session struct {
	agent *player
	id    string
	runs  sync.WaitGroup

	mu     sync.Mutex
	stop   context.CancelCauseFunc // ends the turn that runs, nil if none does
	owner  *prompt                 // which the turn answers, nil while it is parked
	parked chan string             // waits for the words of the next prompt
	line   []*prompt               // to be played when the turn has ended
}

// prompt is a session/prompt that is not answered yet.
type prompt struct {
	done chan acp.PromptResponse // holds one
}

func (p *prompt) finish(r acp.PromptResponse) {
	if p != nil {
		p.done <- r
	}
}

// prompt takes a prompt: it answers the question that waits in the
// conversation, or starts a turn. A turn that runs is cancelled for it.
func (s *session) prompt(ctx context.Context, words string) conn.Answer {
	p := &prompt{done: make(chan acp.PromptResponse, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.parked != nil:
		s.parked <- words
		s.parked, s.owner = nil, p
	case s.stop != nil:
		s.line = append(s.line, p)
		s.stop(convert.ErrCancelled)
	default:
		s.begin(p)
	}
	return func() (any, error) {
		select {
		case r := <-p.done:
			return r, nil
		case <-ctx.Done():
			s.cancel(convert.ErrCancelled)
			return nil, ctx.Err()
		}
	}
}

// begin plays a turn for the prompt. s.mu is held.
func (s *session) begin(p *prompt) {
	ctx, stop := context.WithCancelCause(context.Background())
	s.stop, s.owner = stop, p
	s.runs.Go(func() {
		defer stop(nil)
		reason := acp.StopReasonEndTurn
		if s.play(ctx, s.agent.callID()) {
			reason = acp.StopReasonCancelled
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.owner.finish(acp.PromptResponse{StopReason: reason})
		s.stop, s.owner, s.parked = nil, nil, nil
		if len(s.line) > 0 {
			next := s.line[0]
			s.line = s.line[1:]
			s.begin(next)
		}
	})
}

// cancel ends the turn and all prompts that wait.
func (s *session) cancel(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil {
		s.stop(cause)
	}
	for _, p := range s.line {
		p.finish(acp.PromptResponse{StopReason: acp.StopReasonCancelled})
	}
	s.line, s.parked = nil, nil
}

// park writes a question into the conversation, ends the prompt, and waits for
// the words of the next one.
func (s *session) park(ctx context.Context, m adapter.Message) (string, error) {
	s.say("\n\n" + m.Text)
	reply := make(chan string, 1)
	s.mu.Lock()
	if ctx.Err() == nil {
		s.parked = reply
		s.owner.finish(acp.PromptResponse{
			StopReason: acp.StopReasonEndTurn,
			Meta:       map[string]any{"acp-bridge": map[string]any{"waitingFor": m.ToolCallID}},
		})
		s.owner = nil
	}
	s.mu.Unlock()
	select {
	case words := <-reply:
		return words, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// say writes a piece of the agent's message, unless no prompt runs. It blocks
// while the client does not read.
func (s *session) say(text string) {
	s.mu.Lock()
	parked := s.owner == nil
	s.mu.Unlock()
	if parked {
		return
	}
	_ = (*client)(s.agent).SessionUpdate(context.Background(), acp.SessionNotification{
		SessionId: acp.SessionId(s.id),
		Update:    acp.UpdateAgentMessageText(text),
	})
}
