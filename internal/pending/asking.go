package pending

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/life"
)

// Asking is one call in a [Chain]. Its methods but Settle are for whoever asks.
type Asking struct {
	chain    *Chain
	ctx      context.Context
	kind     desk.Kind
	call     convert.Call
	id       string // of its file, if it has one
	sessions []string
	given    convert.Outcome
	err      error // why it was not asked
	turn     <-chan struct{}
	leave    func()
	done     chan struct{} // closed when it is settled
	atHub    bool

	mu      sync.Mutex
	file    *File
	inFile  bool // its file has the outcome
	here    bool // it was given at the terminal
	settled bool
	desk.Settlement
}

var _ adapter.Asking = (*Asking)(nil)

// File is where the questions wait; nil if they do in no file.
func (a *Asking) File() *File { return a.file }

// Ready reports whether Wait will not have to wait.
func (a *Asking) Ready() bool {
	return a.err != nil || a.given.Status != 0 || a.file != nil && a.file.Err == nil && a.file.Settled()
}

// Err says why the questions could not be asked at all.
func (a *Asking) Err() error { return a.err }

// Here reports whether the outcome was given at the terminal.
func (a *Asking) Here() bool { return a.here }

// At is when the outcome was given.
func (a *Asking) At() time.Time { return a.Settlement.At }

// Where says where a person can answer, in words for an agent.
func (a *Asking) Where() string {
	var lines []string
	if hub := a.chain.opts.Hub; hub != nil {
		lines = append(lines, "The question waits at "+hub.URL.String()+"/")
	}
	if a.file != nil {
		lines = append(lines, fmt.Sprintf("The user cannot be asked here and now. Tell the user to run `acp-bridge questions answer %s`, or to write the answers into %s.", a.file.ID, a.file.Path))
	}
	return strings.Join(lines, "\n")
}

// claim takes over the file of a predecessor. One that has to be corrected first
// can be waited for, but not left.
func (a *Asking) claim(sessions []string) {
	f, err := a.chain.asker.Claim(a.call, sessions...)
	switch {
	case errors.Is(err, ErrNotFound):
		return
	case f == nil, a.chain.opts.Leave && a.chain.opts.Given == nil:
		a.err = err
	}
	if f != nil {
		a.file, a.id = f, f.ID
	}
}

// post has the questions wait in a file.
func (a *Asking) post() {
	if a.chain.asker == nil || a.kind != desk.Question {
		return
	}
	if a.file, a.err = a.chain.asker.Post(a.call, a.sessions...); a.file != nil {
		a.id = a.file.ID
	}
}

// Wait implements [adapter.Asking].
func (a *Asking) Wait() (convert.Outcome, error) {
	defer a.leave()
	switch {
	case a.err != nil:
	case a.given.Status != 0:
		a.settle(a.given, a.chain.opts.Me, a.chain.opts.GivenBy)
	case a.Ready():
		a.settleFrom(a.file)
	default:
		a.live()
	}
	switch {
	case a.settled:
		return a.Outcome, a.Outcome.Err()
	case a.err != nil:
		return convert.Outcome{Status: convert.Failed, Reason: a.err.Error()}, a.err
	}
	return a.end()
}

// end is the outcome of a call that no person has settled.
func (a *Asking) end() (convert.Outcome, error) {
	if a.Outcome.Status == 0 {
		a.Outcome = adapter.Withdrawn(a.ctx)
	}
	if !a.stays() {
		a.withdraw()
	} else if a.file != nil { // it may have been answered this moment
		if now, err := a.chain.opts.Store.Open(a.file.Path); err == nil && now.ID == a.id && now.Settled() && now.Foreign == nil {
			a.settleFrom(now)
		}
	}
	return a.Outcome, a.Outcome.Err()
}

// stays reports whether a call that has no outcome is left open for a successor.
func (a *Asking) stays() bool {
	return len(a.sessions) > 0 && !errors.Is(context.Cause(a.ctx), adapter.ErrWithdrawn)
}

// withdraw takes the questions out of their file. What a person has answered this
// moment counts.
func (a *Asking) withdraw() {
	if a.file == nil {
		return
	}
	now, err := a.chain.asker.Withdraw(a.file)
	switch {
	case err != nil && !errors.Is(err, ErrGone):
		a.chain.say("the question stays in its file: %s", clean.Line(err.Error()))
	case now != nil && now.ID == a.id && now.Settled() && now.Foreign == nil:
		a.settleFrom(now)
	case now == nil:
		a.file = nil
	}
}

// surfaces are what is known of where a call is asked.
type surfaces struct {
	terminal bool          // somebody sits there
	hub      bool          // it has the question, or that is not known yet
	nobody   chan struct{} // closed if nobody sits at the terminal
	heard    chan error    // from the hub, once
	left     chan struct{} // closed when the call ends without a person's act
	leave    func()        // closes it
}

// live asks where somebody may be, until a person has settled it or it has ended
// otherwise.
func (a *Asking) live() {
	ctx, stop := context.WithCancel(a.ctx)
	var running sync.WaitGroup
	defer func() { stop(); running.Wait() }()
	on := surfaces{
		terminal: a.chain.opts.Terminal != nil, hub: a.chain.link != nil,
		nobody: make(chan struct{}), heard: make(chan error, 1), left: make(chan struct{}),
	}
	on.leave = sync.OnceFunc(func() { close(on.left) })
	watch := func() {
		if a.file != nil {
			running.Go(func() { a.watch(ctx) })
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
			if on.terminal, on.nobody = false, nil; a.file == nil {
				a.post()
				watch()
			}
		case err := <-on.heard:
			on.hub = err == nil
			if a.atHub = on.hub; !on.terminal {
				a.notReached(err)
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
	switch {
	case a.err != nil:
		return false
	case on.terminal || on.hub || a.isSettled() || a.file != nil && !a.chain.opts.Leave:
		return true
	}
	a.err = a.nobody()
	return false
}

// notReached ends a call that would be left, if it is our fault that the hub does
// not have it.
func (a *Asking) notReached(err error) {
	if a.chain.opts.Leave && errors.Is(err, hublink.ErrRefused) {
		a.err = err
		a.withdraw()
	}
}

// nobody is why a call ends that nobody can be asked.
func (a *Asking) nobody() error {
	if a.file == nil {
		return ErrNobody
	}
	return ErrPending
}

// waits tells the person where the questions wait, unless the call ends there.
func (a *Asking) waits() {
	if a.file == nil || !a.atHub && a.chain.opts.Leave {
		return
	}
	at := ""
	if a.atHub {
		at = "at " + a.chain.opts.Hub.URL.String() + "/ and "
	}
	a.chain.say("%q waits %sin %s; answer it there, or with acp-bridge questions answer %s",
		clean.Truncate(clean.Line(a.call.Questions[0].Text), 50), at, clean.Line(a.file.Path), a.file.ID)
}

// watch waits for answers in the file.
func (a *Asking) watch(ctx context.Context) {
	switch f, err := a.chain.opts.Store.Wait(ctx, a.file); {
	case err == nil:
		a.settleFrom(f)
	case errors.Is(err, ErrGone): // a person removed it
		a.finish(desk.Settlement{Outcome: cancelled, By: "hand", At: time.Now()})
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
	case chosen(o):
		a.here = a.settle(o, a.chain.opts.Me, "what was chosen here")
	default:
		a.fail(o)
	}
	on.leave()
}

// fail notes an outcome that is no person's act.
func (a *Asking) fail(o convert.Outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.settled {
		a.Settlement = desk.Settlement{Outcome: o, At: time.Now()}
	}
}

// chosen reports whether an outcome is the choice of a person.
func chosen(o convert.Outcome) bool {
	return o.Status == convert.Answered || o.Status == convert.Declined ||
		o.Status == convert.Cancelled && o.Reason == convert.CancelMessage
}

// putToHub asks at the hub, too, until end is called: then the hub is told how
// it ended here.
func (a *Asking) putToHub(ctx context.Context, running *sync.WaitGroup, on *surfaces) (end func()) {
	ch, c := a.chain, a.callAtHub()
	ch.expect(c.ID, on.heard)
	ticket, err := ch.desk.Post(ctx, desk.Item{Kind: a.kind, Call: c, Agent: ch.opts.Agent, Dir: ch.opts.Dir, Check: a.fromHub})
	if err != nil {
		ch.expect(c.ID, nil)
		on.heard <- err
		return func() {}
	}
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
	if o, _ := t.Settle(convert.Outcome{}, ""); chosen(o) {
		a.settle(o, hubName, "what was said at the hub")
	} else {
		a.fail(o)
	}
}

// forHub is what the hub is told at the end: the outcome, that the question was
// withdrawn, or that its asker is gone and it stays open.
func (a *Asking) forHub() (o convert.Outcome, by string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.settled:
		return a.Outcome, a.By
	case a.stays():
		return convert.Outcome{Status: convert.Disconnected, Reason: convert.GoneMessage}, ""
	}
	return convert.Outcome{Status: convert.Cancelled, Reason: "The question was withdrawn"}, ""
}

// hubName says who gave an answer that came from the hub.
const hubName = "the hub"

// callAtHub is the call with the names that it has at the hub: that of its file,
// by which a successor finds it there, too.
func (a *Asking) callAtHub() convert.Call {
	c := a.call
	c.ID = a.id + "-call"
	if c.Session == "" {
		c.Session = a.id + "-run"
	}
	return c
}

// fromHub is the rule for answers that come from the hub: what was answered
// before, here or in the file, stands.
func (a *Asking) fromHub(answers []convert.Answer) error {
	if !a.settle(convert.Outcome{Status: convert.Answered, Answers: answers}, hubName, "") {
		return &desk.SettledError{Settlement: a.Settlement}
	}
	return nil
}

// Settle gives the call an outcome that was got elsewhere. It returns the one
// that stands, which is the first.
func (a *Asking) Settle(o convert.Outcome, by string) convert.Outcome {
	a.settle(o, by, by)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.Outcome
}

func (a *Asking) isSettled() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.settled
}

// settle gives the call its outcome, and writes it into the file, so that nobody
// else settles it there. It returns false if somebody was faster: that stands,
// and the person is told what came of theirs.
func (a *Asking) settle(o convert.Outcome, by, what string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.settled {
		return false
	}
	first, written := a.write(o, by)
	if first == nil {
		a.finishLocked(desk.Settlement{Outcome: o, By: by, At: time.Now()}, written)
		return true
	}
	if what != "" && chosen(o) {
		a.chain.say("%s is not used: %s: %s", what, clean.Line(a.file.Path), clean.Line(first.SettledError().Error()))
	}
	a.finishLocked(first.settlement(), true)
	return false
}

// settleFrom gives the call the outcome that its file has.
func (a *Asking) settleFrom(f *File) { a.finish(f.settlement()) }

// finish gives the call an outcome that came by its file.
func (a *Asking) finish(s desk.Settlement) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.settled {
		a.finishLocked(s, true)
	}
}

// finishLocked is called with mu held, once.
func (a *Asking) finishLocked(s desk.Settlement, inFile bool) {
	a.Settlement, a.inFile, a.settled = s, inFile, true
	close(a.done)
}

// write writes a person's choice into the file. first is the file if somebody has
// settled it before. What somebody has begun to answer is not dismissed.
func (a *Asking) write(o convert.Outcome, by string) (first *File, written bool) {
	if a.file == nil || !chosen(o) {
		return nil, false
	}
	store := a.chain.opts.Store
	for {
		now, err := store.Open(a.file.Path)
		switch {
		case err != nil || now.ID != a.id || now.Foreign != nil || errors.Is(now.Err, ErrDamaged): // it is gone, or of no use
			return nil, false
		case now.Settled():
			return now, true
		case o.Status == convert.Answered:
			err = store.Answer(now, o.Answers, by)
		case now.Untouched():
			err = store.Dismiss(now, by)
		default:
			return nil, false
		}
		if err == nil {
			return nil, true
		}
		if !errors.Is(err, ErrChanged) && !errors.Is(err, desk.ErrSettled) { // it cannot be written
			return nil, false
		}
	}
}

// Deliver implements [adapter.Asking]. If a person has removed the file since,
// use is not called and the error matches [convert.ErrCancelled].
func (a *Asking) Deliver(use func() error) error {
	if a.file == nil || !a.settled || !a.inFile && a.Outcome.Status != convert.Answered {
		return a.used(use())
	}
	switch err := a.chain.asker.Deliver(a.file, use); {
	case errors.Is(err, life.ErrNotKept):
		a.chain.say("%s", clean.Line(err.Error()))
		return a.used(nil)
	case errors.Is(err, ErrGone) && a.Outcome.Status == convert.Answered:
		return fmt.Errorf("%w: %w", convert.ErrCancelled, err)
	case errors.Is(err, ErrGone):
		return a.used(use())
	default:
		return a.used(err)
	}
}

// used tells the hub that whoever asked has gone on with the outcome.
func (a *Asking) used(err error) error {
	if err == nil && a.settled && a.chain.link != nil {
		a.chain.link.Used(a.callAtHub().Session)
	}
	return err
}
