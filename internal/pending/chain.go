package pending

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// Options say where a [Chain] looks for answers. Each may be missing.
type Options struct {
	// Agent says who asks and Dir where it works, for people.
	Agent, Dir string
	// Who says who asks where that is not always Agent, which is meant by "" and nil.
	Who func(convert.Call) string
	// Given has answers that were given beforehand, and GivenBy says where, as
	// in "--answers". It is called for one call at a time, in order.
	Given   func(convert.Call) (convert.Outcome, error)
	GivenBy string
	// Store is where questions wait that nobody is there to be asked.
	Store *Store
	// Hub is where questions are, too.
	Hub *hublink.Options
	// Terminal asks whoever sits here, who is called Me, one call at a time. Its
	// error is [ErrNobody] where nobody does.
	Terminal adapter.Resolver
	Me       string
	// Sessions are the names by which a successor of this process may claim what
	// a call asks, see [Asker.Claim]; nil has none. Resumed are those that this
	// process takes up again itself; nil are all of them.
	Sessions, Resumed func(convert.Call) []string
	// Leave does not wait where nobody is there: the call ends with
	// [ErrPending] and stays in its file, for a successor.
	Leave bool
	// Say tells the person at the command, a line at a time; nil discards it.
	Say func(string)
}

var (
	// ErrNobody means that nobody is there to be asked.
	ErrNobody = errors.New("there is nobody to ask")
	// ErrPending means that the questions wait in a file.
	ErrPending = errors.New("the questions wait in a file")
)

// Chain asks wherever somebody may answer. It is an [adapter.Poster].
type Chain struct {
	opts  Options
	asker *Asker // nil without a store
	desk  desk.Desk
	link  *hublink.Link // nil without a hub

	shared proc.Shared             // has what follows
	tail   chan struct{}           // closed when the last in line has left the terminal
	heard  map[string]chan<- error // by the name at the desk
}

var _ adapter.Poster = (*Chain)(nil)

// New makes a chain. It must be closed.
func New(o Options) *Chain {
	ch := &Chain{opts: o, tail: closed, heard: map[string]chan<- error{}}
	if ch.opts.Say == nil {
		ch.opts.Say = func(string) {}
	}
	if o.Store != nil {
		ch.asker = o.Store.Asker(o.Agent)
	}
	if o.Hub != nil {
		hub := *o.Hub
		hub.Agent, hub.Heard = o.Agent, ch.hear
		ch.link = hublink.Start(&ch.desk, hub)
	}
	return ch
}

// Close ends the chain, after everything that was asked has ended. What was left
// open stays open, for a successor.
func (ch *Chain) Close() {
	if ch.link != nil {
		ch.link.Close()
	}
	if ch.asker != nil {
		ch.asker.Close()
	}
}

// Forget removes what was asked in files in these sessions: their turn is over,
// and whoever asked has gone on.
func (ch *Chain) Forget(sessions ...string) error {
	if ch.asker == nil {
		return nil
	}
	unclaimed, err := ch.asker.Forget(sessions...)
	for _, q := range unclaimed {
		ch.say("an earlier run asked %q, and this one did not: an answer to that is not used", clean.Truncate(clean.Line(q.Text), 50))
	}
	return err
}

// Ask implements [adapter.Resolver]. Who calls it has taken the outcome.
func (ch *Chain) Ask(ctx context.Context, c convert.Call) (convert.Outcome, error) {
	a := ch.Begin(ctx, c)
	o, err := a.Wait()
	if taken := a.Deliver(func() error { return nil }); taken != nil {
		return adapter.Settle(c, convert.Outcome{}, taken)
	}
	return o, err
}

// Post implements [adapter.Poster].
func (ch *Chain) Post(ctx context.Context, c convert.Call) adapter.Asking { return ch.Begin(ctx, c) }

// Begin is Post, for those who want to know more.
func (ch *Chain) Begin(ctx context.Context, c convert.Call) *Asking {
	a := ch.begin(ctx, desk.Question, c)
	if ch.opts.Sessions != nil {
		a.sessions = ch.opts.Sessions(c)
	}
	if resumed := a.sessions; ch.asker != nil && !a.only {
		if ch.opts.Resumed != nil {
			resumed = ch.opts.Resumed(c)
		}
		a.claim(resumed)
	}
	switch {
	case ch.opts.Given != nil:
		a.given, a.err = ch.opts.Given(c)
	case a.err == nil && a.File() == nil && (ch.opts.Terminal == nil || ch.link != nil):
		if a.post(); a.err != nil && ch.link != nil { // there is another place for it
			ch.say("%s", clean.Line(a.err.Error()))
			a.err = nil
		}
	}
	return a
}

// Approver asks for permissions: at the hub and in the terminal, and in no file,
// where an agent could write. Its error is [ErrNobody] where nobody is there.
func (ch *Chain) Approver() adapter.Poster { return approver{ch} }

type approver struct{ chain *Chain }

// Ask implements [adapter.Resolver]. Who calls it has taken the outcome.
func (ap approver) Ask(ctx context.Context, c convert.Call) (convert.Outcome, error) {
	a := ap.Post(ctx, c)
	o, err := a.Wait()
	_ = a.Deliver(func() error { return nil })
	return o, err
}

// Post implements [adapter.Poster].
func (ap approver) Post(ctx context.Context, c convert.Call) adapter.Asking {
	return ap.chain.begin(ctx, desk.Permission, c)
}

func (ch *Chain) begin(ctx context.Context, kind desk.Kind, c convert.Call) *Asking {
	a := &Asking{chain: ch, ctx: ctx, call: c, id: newID(), done: make(chan struct{}), leave: func() {}}
	a.item = desk.Item{Kind: kind, Call: c, Dir: ch.opts.Dir}
	a.only = !a.item.Describe(ctx)
	fits := a.item.Check
	a.item.Check = func(answers []convert.Answer) error {
		if fits != nil {
			if err := fits(answers); err != nil {
				return err
			}
		}
		if !a.settle(convert.Outcome{Status: convert.Answered, Answers: answers}, hubName, "") {
			return &desk.SettledError{Settlement: a.Settlement} // what was answered before, here or in the file
		}
		return nil
	}
	a.item.Agent = cmp.Or(a.item.Agent, ch.who(c))
	if ch.opts.Terminal != nil {
		a.turn, a.leave = ch.line()
	}
	return a
}

// line gives a call its turn at the terminal, which it has until it leaves.
func (ch *Chain) line() (turn <-chan struct{}, leave func()) {
	mine := make(chan struct{})
	var before chan struct{}
	ch.shared.Step(func() { before, ch.tail = ch.tail, mine })
	return before, sync.OnceFunc(func() {
		select {
		case <-before:
			close(mine)
		default: // it never had its turn
			go func() {
				<-before
				close(mine)
			}()
		}
	})
}

var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// expect has the hub's word about a question go somewhere, or nowhere.
func (ch *Chain) expect(id string, heard chan<- error) {
	ch.shared.Step(func() {
		if ch.heard[id] = heard; heard == nil {
			delete(ch.heard, id)
		}
	})
}

// hear is told by the link whether the hub has a question.
func (ch *Chain) hear(e desk.Entry, err error) {
	ch.shared.Step(func() {
		if heard := ch.heard[e.Name]; heard != nil {
			heard <- err // has room for one
			delete(ch.heard, e.Name)
		}
	})
}

// who asks, for people.
func (ch *Chain) who(c convert.Call) string {
	if ch.opts.Who == nil {
		return ch.opts.Agent
	}
	return cmp.Or(ch.opts.Who(c), ch.opts.Agent)
}

func (ch *Chain) say(format string, args ...any) { ch.opts.Say(fmt.Sprintf(format, args...)) }
