package session

import (
	"cmp"
	"context"
	"errors"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/seen"
	"github.com/acp-bridge/acp-bridge/internal/typed"
)

// Driven is a state with the agent's requests that its keys stand for. Its driver has it
// to itself whenever it calls, and waits for nothing then.
type Driven struct {
	State
	Askers map[int]*Asker // until the agent has been told
	keys   int
	comes  chan struct{} // closed when the editor sends the next prompt
}

// Drive returns the state of a session in which nothing is asked.
func Drive(s State) Driven {
	return Driven{State: s, Askers: map[int]*Asker{}, comes: make(chan struct{})}
}

// NextKey names a prompt or a request.
func (d *Driven) NextKey() int {
	d.keys++
	return d.keys
}

// Apply lets something happen. What follows is for the requests, as far as it is theirs,
// then for perform, which returns what happens next. Words are those of a prompt.
func (d *Driven) Apply(ev Event, words func(prompt int) typed.Words, perform func(Effect) Event) {
	if came, ok := ev.(PromptCame); ok && !came.Own {
		close(d.comes)
		d.comes = make(chan struct{})
	}
	for queue := []Event{ev}; len(queue) > 0; queue = queue[1:] {
		for _, e := range d.Step(queue[0]) {
			d.request(e, words)
			if next := perform(e); next != nil {
				queue = append(queue, next)
			}
		}
	}
}

// request does what the state calls for with a request.
func (d *Driven) request(e Effect, words func(prompt int) typed.Words) {
	switch e := e.(type) {
	case Post:
		d.Askers[e.Key].Post()
	case Admit:
		if a := d.Askers[e.Key]; a != nil { // one that is over needs none
			a.admitted <- e.OK
		}
	case Hear:
		a := d.Askers[e.Key]
		a.Showing.Replied(seen.Prompt)
		a.heard <- spoken{words(e.Prompt), e.Stale}
	case Withdraw:
		d.Askers[e.Key].Cancel(e.Why)
	case ShowAgain:
		d.Askers[e.Key].Again()
	}
}

// Attended is nil while the editor shows what it is sent. Otherwise its next prompt
// closes it: from then on the editor shows things again.
func (d *Driven) Attended() <-chan struct{} {
	if !d.Unseen() {
		return nil
	}
	return d.comes
}

// ShownIn are the requests that the editor shows in a session, by their keys.
func (d *Driven) ShownIn(session string) (keys []int) {
	for key, a := range d.Askers {
		if a.Shown == session {
			keys = append(keys, key)
		}
	}
	return keys
}

// Asker is a request of the agent for whoever drives the session: what [State.Step] says
// of it gets here to the goroutine that asks it.
type Asker struct {
	Key   int    // of its events and effects
	Shown string // the session in which the editor shows it, which may be a sub-agent's
	// Ctx ends with the request. Cancel is for [Withdraw].
	Ctx     context.Context
	Cancel  context.CancelCauseFunc
	Post    func()        // for [Post]: it takes its place at the desk
	Again   func()        // for [ShowAgain]
	Showing *seen.Showing // that of the question in the conversation
	GoesOn  bool          // see [RequestReplied]
	Over    chan struct{} // for the driver to close, when all is done
	stood   bool          // in the conversation

	in       *Driven
	admitted chan bool   // holds one
	heard    chan spoken // holds one
}

// spoken are the words of a prompt that answers a question. Stale means that they may have
// been meant for another one.
type spoken struct {
	words typed.Words
	stale bool
}

// NewAsker is a request that ends with ctx at the latest. RequestCame follows.
func (d *Driven) NewAsker(ctx context.Context, shown string) *Asker {
	a := &Asker{
		Key: d.NextKey(), Shown: shown, Post: func() {}, Again: func() {}, Over: make(chan struct{}),
		in: d, admitted: make(chan bool, 1), heard: make(chan spoken, 1),
	}
	a.Ctx, a.Cancel = context.WithCancelCause(ctx)
	d.Askers[a.Key] = a
	return a
}

// Admitted waits for the end of an event that asks whether the request may go on.
func (a *Asker) Admitted() bool { return <-a.admitted }

// Gone is why the agent does not wait for the request any more, nil if it does.
func (a *Asker) Gone() error {
	if why := context.Cause(a.Ctx); errors.Is(why, ErrWithdrawn) {
		return why
	}
	return nil
}

// Replied takes the request off the session: the agent has been told.
func (a *Asker) Replied() Event {
	a.Cancel(nil)
	delete(a.in.Askers, a.Key)
	return RequestReplied{Key: a.Key, GoOn: a.GoesOn}
}

// FeedsShowings makes it a [seen.Witness].
func (a *Asker) FeedsShowings() {}

// Withdrawn is why a request may not go on.
func Withdrawn(ctx context.Context) error {
	return cmp.Or(context.Cause(ctx), error(convert.ErrCancelled))
}

// Parking is how a driver has a question in the conversation.
type Parking struct {
	// Show parks it behind all that was said so far and returns the context of that
	// showing, and what ends it; no context if it may not be shown.
	Show func(text string) (view context.Context, hide func())
	// Tell gets a remark for the user.
	Tell func(remark string)
}

// tells the user why a question that they saw in the conversation is gone.
func (p Parking) tells(why error) {
	if remark := goneRemark(why); remark != "" {
		p.Tell(remark)
	}
}

// Converse asks in the conversation until the words of a prompt are an answer. Means is
// that of [typed.Hearing].
func (a *Asker) Converse(ctx context.Context, question string, means func(string) bool, p Parking) (string, error) {
	hearing := typed.Hearing{Means: means}
	a.Showing = seen.Of(ctx)
	for text := question; ; a.Showing.Anew() {
		view, hide := p.Show(text)
		if view == nil {
			why := context.Cause(ctx)
			if errors.Is(why, ErrNotAsked) {
				why = ErrOtherMessage // behind the one that was no answer
			}
			if a.stood {
				p.tells(why)
			}
			return "", Withdrawn(ctx)
		}
		a.stood = true
		select {
		case h := <-a.heard:
			hide()
			answer, again := h.by(&hearing)
			if again == "" {
				if lost := h.words.Lost(answer); lost != "" {
					p.Tell("\n\nYour answer is taken without " + lost + ", which cannot be passed on with it.\n\n")
				}
				return answer, nil
			}
			text = again + question
		case <-view.Done():
			if hide(); ctx.Err() != nil {
				p.tells(context.Cause(ctx))
				return "", Withdrawn(ctx)
			}
			text = againRemark + question // what showed it is gone
		}
	}
}
