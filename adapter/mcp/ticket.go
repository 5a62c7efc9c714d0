package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/acp-bridge/acp-bridge/convert"
)

// ticket is a question that is open, or has an answer that nobody has fetched.
type ticket struct {
	name    string
	session string
	call    convert.Call
	cancel  context.CancelCauseFunc
	done    chan struct{} // closed when outcome is set
	outcome convert.Outcome
	waiting int // calls that wait for it; the server's mu guards it

	fetched sync.Once
	taken   error // what [Options.Deliver] said
}

// Why questions end that nobody has answered, nor dismissed.
var (
	errClosed  = fmt.Errorf("the question tool was closed: %w", convert.ErrDisconnected)
	errDropped = errors.New("too many questions are open")
)

// maxTickets bounds what is kept for agents that never come back.
const maxTickets = 100

// find returns the ticket of this name. The caller waits for it.
func (s *Server) find(name string) *ticket {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.open[name]
	if t != nil {
		t.waiting++
	}
	return t
}

// ask asks the questions of a call of a session. If they are open already, as
// they are when a model lost its ticket, they are not asked twice; an answer that
// nobody has fetched counts, but no other end: the model asks anew. The caller
// waits for the ticket.
func (s *Server) ask(session string, c convert.Call) *ticket {
	name := ticketName(session, c)
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.open[name]; t != nil && !t.failed() {
		t.waiting++
		return t
	}
	s.forget(name)
	ctx, cancel := context.WithCancelCause(s.ctx)
	t := &ticket{name: name, session: session, call: c, cancel: cancel, done: make(chan struct{}), waiting: 1}
	if s.ctx.Err() != nil { // Close waits for what was asked before it
		t.outcome = convert.Outcome{Status: convert.Disconnected, Reason: convert.GoneMessage}
		close(t.done)
		return t
	}
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

// failed reports whether the question has ended without an answer.
func (t *ticket) failed() bool { return t.ended() && t.outcome.Status != convert.Answered }

// decided reports whether the question has ended as the user wanted it.
func (t *ticket) decided() bool {
	return t.ended() && t.outcome.Status != convert.Failed && t.outcome.Status != convert.Disconnected
}

func (t *ticket) ended() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// leave ends the wait of a call that goes on later, with the ticket.
func (s *Server) leave(t *ticket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.waiting--
}

// takeBack ends the wait of a call that its agent does not want any more. The
// question ends with it, unless another call waits for the same.
func (s *Server) takeBack(t *ticket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.waiting--; t.waiting == 0 {
		t.cancel(nil)
		s.forgets(t)
	}
}

// fetch takes the answer of a ticket, for the model. The error is [ErrTaken].
// Calls of one session that wait for a ticket at once all get its answer: one of
// them may be a call that the client gave up.
func (s *Server) fetch(t *ticket) (text string, isError bool, err error) {
	s.end(t)
	t.fetched.Do(func() {
		if s.opts.Deliver != nil {
			t.taken = s.opts.Deliver(t.call, t.outcome)
		}
	})
	if errors.Is(t.taken, ErrTaken) {
		return "", false, t.taken
	}
	text, isError = resultText(t.call, t.outcome)
	return text, isError, nil
}

// resultText is the result for the model. What the user decided is no error.
func resultText(call convert.Call, o convert.Outcome) (text string, isError bool) {
	switch o.Status {
	case convert.Answered:
		return convert.TextResult(call, o)
	case convert.Declined:
		return "The user declined to answer. Go on without an answer, and do not ask again.", false
	case convert.Cancelled:
		if o.Reason != convert.CancelMessage && o.Reason != "" { // no person did that
			return "The question is no longer open, so there is no answer: " + o.Reason, true
		}
		return "The user dismissed the question. Stop here, unless you can go on without an answer; do not ask again at once.", false
	}
	return "The user could not be asked, so there is no answer: " + o.Message(), true
}

// drop forgets the oldest of too many tickets. mu is held.
func (s *Server) drop() {
	for len(s.order) > maxTickets {
		if t := s.open[s.order[0]]; t != nil {
			t.cancel(errDropped)
			delete(s.open, t.name)
		}
		s.order = s.order[1:]
	}
}

// end ends the wait of a call, and the ticket.
func (s *Server) end(t *ticket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.waiting--
	s.forgets(t)
}

// forgets forgets a ticket that is over; its name may be that of another one by
// now. mu is held.
func (s *Server) forgets(t *ticket) {
	if s.open[t.name] == t {
		s.forget(t.name)
	}
}

// forget takes a name off the list. mu is held.
func (s *Server) forget(name string) {
	delete(s.open, name)
	s.order = slices.DeleteFunc(s.order, func(n string) bool { return n == name })
}

// ticketName is the same for the same questions of a session.
func ticketName(session string, c convert.Call) string {
	hash := sha256.New()
	_ = json.NewEncoder(hash).Encode([]any{session, c.Questions})
	return hex.EncodeToString(hash.Sum(nil)[:6])
}
