package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/life"
)

// ticket is the hold of a call on what it asks: the question is open, or has an
// answer that nobody has fetched.
type ticket struct {
	name    string     // minted: two calls with the same words are two questions
	from    connection // which alone may wait for it
	call    convert.Call
	cancel  context.CancelCauseFunc
	done    chan struct{} // closed when outcome is set
	outcome convert.Outcome
	waiting int // calls that wait for it; of tickets

	asking  adapter.Asking
	fetched sync.Once
}

// connection is a client's, or nil in tests.
type connection = *sdk.ServerSession

// Why questions end that nobody has answered, nor dismissed.
var (
	errClosed   = fmt.Errorf("the question tool was closed: %w", convert.ErrDisconnected)
	errGone     = fmt.Errorf("the agent has closed the connection: %w", convert.ErrDisconnected)
	errDropped  = errors.New("too many questions are open")
	errTurnOver = errors.New("the turn is over")
)

// maxTickets bounds what is kept for an agent that never comes back.
const maxTickets = 100

// tickets are those of a server, and the connections that hold them. Its methods
// are called one at a time.
type tickets struct {
	open    map[string]*ticket
	order   []string              // of the tickets, the oldest first
	clients map[connection]string // their sessions
}

// step has the tickets to itself.
func (s *Server) step(f func(*tickets)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.tickets)
}

// find returns the ticket of this name, which was given to this connection. The
// caller waits for it.
func (s *Server) find(from connection, name string) (t *ticket) {
	s.step(func(all *tickets) {
		if held := all.open[name]; held != nil && held.from == from {
			t = held
			t.waiting++
		}
	})
	return t
}

// ask asks the questions of a call. The caller waits for the ticket.
func (s *Server) ask(from connection, c convert.Call) *ticket {
	ctx, cancel := context.WithCancelCause(s.ctx)
	t := &ticket{name: life.Mint(), from: from, call: c, cancel: cancel, done: make(chan struct{}), waiting: 1}
	added := false
	s.step(func(all *tickets) { // Close waits for what was asked before it
		if added = s.ctx.Err() == nil; added {
			s.running.Add(1)
			all.add(t)
		}
	})
	if !added {
		cancel(nil)
		t.outcome = convert.Outcome{Status: convert.Disconnected, Reason: convert.GoneMessage}
		close(t.done)
		return t
	}
	t.asking = adapter.Post(ctx, s.opts.Resolver, c)
	go func() {
		defer s.running.Done()
		defer cancel(nil)
		t.outcome, _ = t.asking.Wait()
		close(t.done)
	}()
	return t
}

// add puts a ticket on the list. Of too many of one connection the oldest is
// forgotten: those of others are none of its business.
func (all *tickets) add(t *ticket) {
	all.open[t.name] = t
	all.order = append(all.order, t.name)
	var own []*ticket
	for _, name := range all.order {
		if o := all.open[name]; o.from == t.from {
			own = append(own, o)
		}
	}
	if len(own) > maxTickets {
		own[0].cancel(errDropped)
		all.forget(own[0])
	}
}

// forget takes a ticket off the list.
func (all *tickets) forget(t *ticket) {
	delete(all.open, t.name)
	all.order = slices.DeleteFunc(all.order, func(n string) bool { return n == t.name })
}

// end withdraws what is open and drops answers that were not fetched.
func (all *tickets) end(why error, which func(*ticket) bool) {
	for _, t := range all.open {
		if which(t) {
			t.cancel(why)
			all.forget(t)
		}
	}
}

// Waits reports whether a ticket is one to wait with: its question is open, or has
// an answer that was not fetched.
func (s *Server) Waits(ticket string) (waits bool) {
	s.step(func(all *tickets) { waits = all.open[ticket] != nil })
	return waits
}

// sessionOf is the session of a connection, which is known until it ends.
func (s *Server) sessionOf(from connection) (name string) {
	s.step(func(all *tickets) {
		known := false
		if name, known = all.clients[from]; !known {
			name = cmp.Or(s.opts.Session, life.Mint())
			all.clients[from] = name
			go s.await(from)
		}
	})
	return name
}

// Client is the name of the client whose session this is, for people: what it calls
// itself, on one line. It is empty for one that is not known, or has no name.
func (s *Server) Client(session string) (name string) {
	var from connection
	s.step(func(all *tickets) {
		for c, its := range all.clients {
			if its == session {
				from = c
			}
		}
	})
	if from == nil {
		return ""
	}
	p := from.InitializeParams()
	if p == nil || p.ClientInfo == nil {
		return ""
	}
	return clean.Truncate(cmp.Or(clean.Line(p.ClientInfo.Title), clean.Line(p.ClientInfo.Name)), maxName)
}

// maxName is how much of a client's name is shown.
const maxName = 60

// await ends what a connection has asked when it is gone: nobody can fetch it.
func (s *Server) await(from connection) {
	_ = from.Wait() // however it ended
	s.step(func(all *tickets) {
		all.end(errGone, func(t *ticket) bool { return t.from == from })
		delete(all.clients, from)
	})
}

// EndTurn ends what belongs to the agent's turn, which is over: questions that no
// call waits for, and answers that nobody has fetched. Without it they end with
// their connection. A call that still waits is of something that outlives the
// turn.
func (s *Server) EndTurn() {
	s.step(func(all *tickets) {
		all.end(errTurnOver, func(t *ticket) bool { return t.waiting == 0 })
	})
}

// decided reports whether the question has ended as the user wanted it.
func (t *ticket) decided() bool {
	return t.ended() && t.outcome.Status.ByPerson()
}

func (t *ticket) ended() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// parting is how the wait of a call ends.
type parting int

const (
	later  parting = iota // the call is made again, with the ticket
	fetch                 // the ticket ends with it
	giveUp                // the question does, unless another call waits with its ticket
)

// leave ends the wait of a call.
func (s *Server) leave(t *ticket, how parting) {
	s.step(func(all *tickets) {
		t.waiting--
		if how == giveUp && t.waiting == 0 {
			t.cancel(nil)
			all.forget(t)
		}
		if how == fetch {
			all.forget(t)
		}
	})
}

// fetch takes the answer of a ticket, for the model. Calls that wait for one
// ticket at once, which only its own connection can, all get its answer: one of
// them may be a call that the client gave up.
func (s *Server) fetch(t *ticket) (text string, isError bool) {
	s.leave(t, fetch)
	t.fetched.Do(func() {
		if t.asking == nil {
			return
		}
		if err := t.asking.Deliver(func() error { return nil }); err != nil {
			t.outcome, _ = adapter.Settle(t.call, convert.Outcome{}, err)
		}
	})
	return resultText(t.call, t.outcome)
}

// resultText is the result for the model. What the user decided is no error.
func resultText(call convert.Call, o convert.Outcome) (text string, isError bool) {
	switch o.Status {
	case convert.Answered:
		return convert.TextResult(call, o)
	case convert.Declined:
		return "The user declined to answer. Go on without an answer, and do not ask again.", false
	case convert.Withdrawn:
		return "The question is no longer open, so there is no answer: " + o.Message(), true
	case convert.Cancelled:
		return "The user dismissed the question. Stop here, unless you can go on without an answer; do not ask again at once.", false
	}
	return "The user could not be asked, so there is no answer: " + o.Message(), true
}
