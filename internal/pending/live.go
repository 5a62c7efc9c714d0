package pending

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/life"
)

// surfaces are what is known of where a call is asked.
type surfaces struct {
	terminal bool          // somebody sits there
	hub      bool          // it has the question, or that is not known yet
	nobody   chan struct{} // closed if nobody sits at the terminal
	heard    chan error    // from the hub, once
	left     chan struct{} // closed when the call ends without a person's act
	leave    func()        // closes it
	inFile   atomic.Bool   // it is nowhere but in its file
}

// live asks where somebody may be, until a person has settled it or it has ended
// otherwise.
func (a *Asking) live() {
	ctx, stop := context.WithCancelCause(a.ctx)
	var running sync.WaitGroup
	defer func() {
		if a.isSettled() {
			stop(life.Elsewhere{Outcome: a.Outcome.Status.String()}) // tells whoever sits at the terminal
		}
		stop(nil)
		running.Wait()
	}()
	on := surfaces{
		terminal: a.chain.opts.Terminal != nil, hub: a.chain.link != nil && !a.only,
		nobody: make(chan struct{}), heard: make(chan error, 1), left: make(chan struct{}),
	}
	on.leave = sync.OnceFunc(func() { close(on.left) })
	watch := func() {
		if a.File() != nil {
			running.Go(func() { a.watch(ctx, &on) })
		}
	}
	watch()
	if on.terminal {
		running.Go(func() { a.onTerminal(ctx, &on) })
	}
	if on.hub {
		defer a.putToHub(ctx, &running, &on)()
	} else if !on.terminal {
		a.waits()
	}
	for a.goesOn(&on) {
		select {
		case <-a.done:
			return
		case <-on.left:
			return
		case <-on.nobody:
			if on.terminal, on.nobody = false, nil; a.File() == nil {
				a.post()
				watch()
			}
		case err := <-on.heard:
			on.hub = err == nil
			if a.atHub = on.hub; !on.terminal {
				if a.chain.opts.Leave && errors.Is(err, hublink.ErrRefused) {
					a.err = err // that the hub does not have it is our fault
					a.withdraw()
				}
				a.waits()
			}
		case <-ctx.Done():
			if on.terminal { // which says how it ended
				<-on.left
			}
			return
		}
	}
}

// goesOn reports whether there is somebody to wait for. Where the call is left,
// its error says so.
func (a *Asking) goesOn(on *surfaces) bool {
	on.inFile.Store(!on.terminal && !on.hub)
	switch {
	case a.err != nil:
		return false
	case on.terminal || on.hub || a.isSettled() || a.File() != nil && !a.chain.opts.Leave:
		return true
	}
	if a.err = ErrPending; a.File() == nil {
		a.err = ErrNobody
	}
	return false
}

// waits tells the person where the questions wait, unless the call ends there.
func (a *Asking) waits() {
	f := a.File()
	if f == nil || !a.atHub && a.chain.opts.Leave {
		return
	}
	at := ""
	if a.atHub {
		at = "at " + a.chain.opts.Hub.URL.String() + "/ and "
	}
	a.chain.say("%q waits %sin %s; answer it there, or with acp-bridge questions answer %s",
		clean.Truncate(clean.Line(a.call.Questions[0].Text), 50), at, clean.Line(f.Path), f.ID)
}

// watch waits for answers in the file.
func (a *Asking) watch(ctx context.Context, on *surfaces) {
	f, err := a.chain.opts.Store.wait(ctx, a.File(), func(f *File) (*File, error) {
		if !on.inFile.Load() || ctx.Err() != nil {
			return nil, nil
		}
		return a.postAgain(f)
	})
	switch {
	case err == nil:
		a.settleFrom(f)
	case errors.Is(err, ErrGone): // a person removed it
		a.finish(desk.Settlement{Outcome: cancelled, By: "hand", At: time.Now()})
	case ctx.Err() == nil:
		a.fail(convert.Outcome{Status: convert.Failed, Reason: "the file with the question was removed, and cannot be written again: " + err.Error()})
		on.leave()
	}
}

var cancelled = convert.Outcome{Status: convert.Cancelled, Reason: convert.CancelMessage}

// onTerminal asks whoever sits there, when it is the call's turn.
func (a *Asking) onTerminal(ctx context.Context, on *surfaces) {
	select {
	case <-a.turn:
	case <-ctx.Done():
		on.leave()
		return
	}
	o, err := a.chain.opts.Terminal.Ask(ctx, a.call)
	switch {
	case errors.Is(err, ErrNobody) && ctx.Err() == nil:
		close(on.nobody)
		return
	case o.Status.ByPerson():
		a.here = a.settle(o, a.chain.opts.Me, "what was chosen here")
	default:
		a.fail(o)
	}
	on.leave()
}

// fail notes an outcome that is no person's act.
func (a *Asking) fail(o convert.Outcome) {
	a.shared.Step(func() {
		if !a.settled {
			a.Settlement = desk.Settlement{Outcome: o, At: time.Now()}
		}
	})
}

// putToHub asks at the hub, too, until end is called: then the hub is told how
// it ended here.
func (a *Asking) putToHub(ctx context.Context, running *sync.WaitGroup, on *surfaces) (end func()) {
	ch, c, it := a.chain, a.callAtHub(), a.item
	it.Name, it.Call.Session, it.Call.ID = c.ID, c.Session, c.ID
	ch.expect(c.ID, on.heard)
	ticket := ch.desk.Post(ctx, it)
	running.Go(func() {
		<-ticket.Context().Done()
		if errors.Is(context.Cause(ticket.Context()), desk.ErrSettled) {
			a.endedAtHub(ticket)
			on.leave()
		}
	})
	return func() {
		ch.expect(c.ID, nil)
		o, by := a.forHub()
		if _, first := ticket.Settle(o, by); !first {
			a.endedAtHub(ticket)
		}
		ticket.Leave()
	}
}

// endedAtHub takes the outcome that a ticket has.
func (a *Asking) endedAtHub(t *desk.Ticket) {
	if o, _ := t.Settle(convert.Outcome{}, ""); o.Status.ByPerson() {
		a.settle(o, hubName, "what was said at the hub")
	} else {
		a.fail(o)
	}
}

// forHub is what the hub is told at the end: the outcome, that the question was
// withdrawn, or that its asker is gone and it stays open.
func (a *Asking) forHub() (o convert.Outcome, by string) {
	switch {
	case a.isSettled():
		return a.Outcome, a.By
	case a.stays():
		return convert.Outcome{Status: convert.Disconnected, Reason: convert.GoneMessage}, ""
	}
	return convert.Outcome{Status: convert.Withdrawn, Reason: "The question was withdrawn"}, ""
}

// hubName says who gave an answer that came from the hub.
const hubName = "the hub"

// callAtHub is the call with the names that it has at the hub: that of its file, and the
// session in which it was asked first. By these a successor that has claimed the file finds
// it there, too, whatever its own session is called. Without a file nobody does.
func (a *Asking) callAtHub() convert.Call {
	c := a.call
	c.ID = a.id
	if f := a.File(); f != nil {
		c.Session = f.Session
	}
	c.Session = cmp.Or(c.Session, a.id)
	return c
}
