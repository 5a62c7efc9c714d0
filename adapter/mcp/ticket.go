package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/acp-bridge/acp-bridge/convert"
)

// ticket is a question that is open, or has an answer that nobody has fetched.
type ticket struct {
	name    string
	call    convert.Call
	cancel  context.CancelCauseFunc
	done    chan struct{} // closed when outcome is set
	outcome convert.Outcome
}

// maxTickets bounds what is kept for agents that never come back.
const maxTickets = 100

// find returns the ticket of this name.
func (s *Server) find(name string) *ticket {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[name]
}

// ask asks the questions of a call. If they are open already, as they are when a
// model lost its ticket, they are not asked twice.
func (s *Server) ask(c convert.Call) *ticket {
	name := ticketName(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.open[name]; t != nil {
		return t
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	t := &ticket{name: name, call: c, cancel: cancel, done: make(chan struct{})}
	s.open[name] = t
	s.order = append(s.order, name)
	s.drop()
	s.running.Go(func() {
		defer cancel(nil)
		t.outcome, _ = s.opts.Resolver.Ask(ctx, c)
		close(t.done)
	})
	return t
}

// fetch takes the answer of a ticket, for the model.
func (s *Server) fetch(t *ticket) (text string, isError bool) {
	s.forget(t.name)
	if s.opts.Delivered != nil && t.outcome.Status == convert.Answered {
		s.opts.Delivered(t.call)
	}
	return resultText(t.call, t.outcome)
}

// resultText is the result for the model. What the user decided is no error.
func resultText(call convert.Call, o convert.Outcome) (text string, isError bool) {
	switch o.Status {
	case convert.Answered:
		return convert.TextResult(call, o)
	case convert.Declined:
		return "The user declined to answer. Go on without an answer, and do not ask again.", false
	case convert.Cancelled:
		return "The user dismissed the question. Stop here, unless you can go on without an answer; do not ask again at once.", false
	}
	return "The user could not be asked, so there is no answer: " + o.Message(), true
}

// drop forgets the oldest of too many tickets. mu is held.
func (s *Server) drop() {
	for len(s.order) > maxTickets {
		if t := s.open[s.order[0]]; t != nil {
			t.cancel(nil)
			delete(s.open, t.name)
		}
		s.order = s.order[1:]
	}
}

// forget drops a ticket whose answer was delivered.
func (s *Server) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, name)
	for i, n := range s.order {
		if n == name {
			s.order = append(s.order[:i:i], s.order[i+1:]...)
			return
		}
	}
}

// ticketName is the same for the same questions.
func ticketName(c convert.Call) string {
	hash := sha256.New()
	_ = json.NewEncoder(hash).Encode(c.Questions)
	return hex.EncodeToString(hash.Sum(nil)[:6])
}
