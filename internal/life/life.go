// Package life is the life of an asking: one thing that a person is asked, be it
// a question call, a form or a permission. It is the same wherever the asking is
// kept, in memory, in a file or at a hub:
//
//	asked ─► shown ─► settled ─► taken ─► used
//	   └──────────┴────────┴─► withdrawn
//
// The package decides and keeps nothing: no lock, no clock, no file. An owner
// keeps the [State], moves it with [State.Step] under its own lock or its own
// compare-and-set, and tells others. What each event makes of each state, with
// the error in brackets where it makes nothing of it:
//
//	|           | show      | settle    | take      | use       | take over | withdraw  |
//	|-----------|-----------|-----------|-----------|-----------|-----------|-----------|
//	| asked     | shown     | settled   | [not yet] | [not yet] | asked     | withdrawn |
//	| shown     | shown     | settled   | [not yet] | [not yet] | shown     | withdrawn |
//	| settled   | [settled] | [settled] | taken     | [not yet] | settled   | withdrawn |
//	| taken     | [settled] | [settled] | [taken]   | used      | settled   | [taken]   |
//	| used      | [settled] | [settled] | [taken]   | [taken]   | [taken]   | [taken]   |
//	| withdrawn | [gone]    | [gone]    | [gone]    | [gone]    | [gone]    | [gone]    |
//
// What follows from it: the first reply stands; an answer is taken by one asker;
// one that nobody has taken ends with its turn; and what was taken and not used
// before its taker died is there for whoever takes the session up again.
//
// Rules that go with it are functions here, each in one place:
//
//	| rule                                            | here                |
//	|-------------------------------------------------|---------------------|
//	| 1: names are minted                             | Mint                |
//	| 4: what belongs to a turn ends with it          | State.Step, Withdraw |
//	| 5: a successor claims what is left              | Claim               |
//	| 6: to look is not to take                       | Deliver             |
//	| 7: only a person's act is a person's choice     | Ends, Outcome       |
package life

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/acp-bridge/acp-bridge/convert"
)

// State is where an asking is. The zero value has just been asked.
type State uint8

const (
	// Asked means that nobody has seen it yet.
	Asked State = iota
	// Shown means that it is in front of a person, on one surface or more.
	Shown
	// Settled means that a person's reply stands, and that no asker has it.
	Settled
	// Taken means that the asker has the reply.
	Taken
	// Used means that the agent has gone on with it.
	Used
	// Withdrawn means that it ended without a reply, or that its reply can no
	// longer reach anybody.
	Withdrawn
)

var states = [...]string{"asked", "shown", "settled", "taken", "used", "withdrawn"}

// String returns the state in lower case.
func (s State) String() string {
	if int(s) < len(states) {
		return states[s]
	}
	return "unknown"
}

// Open reports whether the asking waits for a reply.
func (s State) Open() bool { return s == Asked || s == Shown }

// Event is what happens to an asking.
type Event uint8

const (
	// Show puts it in front of a person, also once more or on one more surface.
	Show Event = iota
	// Settle is a person's valid reply.
	Settle
	// Take gives the reply to the asker, see [Deliver].
	Take
	// Use says that the agent has gone on with the reply.
	Use
	// TakeOver makes a successor the asker, see [Claim]. What the one before had
	// taken and not used is there once more.
	TakeOver
	// Withdraw ends it: its asker, its turn, its session or its process has.
	Withdraw
)

var events = [...]string{"show", "settle", "take", "use", "take over", "withdraw"}

// String returns the event in lower case.
func (e Event) String() string {
	if int(e) < len(events) {
		return events[e]
	}
	return "unknown"
}

// Why an event makes nothing of a state.
var (
	// ErrNotYet means that what comes before it has not happened.
	ErrNotYet = errors.New("not yet")
	// ErrSettled means that a reply stands already.
	ErrSettled = errors.New("settled already")
	// ErrTaken means that an asker has the reply.
	ErrTaken = errors.New("taken already")
	// ErrGone means that the asking was withdrawn.
	ErrGone = errors.New("withdrawn")
)

// Step is the state after an event. The error wraps one of those above, and the
// state is then as it was.
func (s State) Step(e Event) (State, error) {
	if e > Withdraw || s > Withdrawn {
		return s, fmt.Errorf("%v cannot happen to what is %v", e, s)
	}
	if err := s.refuses(e); err != nil {
		return s, fmt.Errorf("%v: %w", e, err)
	}
	switch e {
	case Show:
		return Shown, nil
	case Settle:
		return Settled, nil
	case Take:
		return Taken, nil
	case Use:
		return Used, nil
	case Withdraw:
		return Withdrawn, nil
	}
	return min(s, Settled), nil // taken over
}

// refuses is why an event makes nothing of a state, nil if it does.
func (s State) refuses(e Event) error {
	switch {
	case s == Withdrawn:
		return ErrGone
	case (e == Show || e == Settle) && !s.Open():
		return ErrSettled
	case e == Take && s.Open(), e == Use && s < Taken:
		return ErrNotYet
	case e == Take && s > Settled, e == Withdraw && s > Settled, s == Used:
		return ErrTaken
	}
	return nil
}

// Mint makes the name of an asking, of an asker or of a session that has none.
// It is made of nothing: words, agents' ids and names of sessions identify
// something only inside the connection that said them.
func Mint() string { return rand.Text() }

// Elsewhere is [ErrSettled] with how it was settled and by whom, if that is known, for
// others who were asked the same.
type Elsewhere struct{ Outcome, By string }

func (e Elsewhere) Error() string { return e.Outcome + " " + e.Place() }

// Place says where it was settled, and by whom.
func (e Elsewhere) Place() string {
	if e.By == "" {
		return "elsewhere"
	}
	return "elsewhere by " + e.By
}

// Unwrap returns [ErrSettled].
func (Elsewhere) Unwrap() error { return ErrSettled }

// ErrWithAnother is why an asking goes when a person dismisses another one: the agent is
// interrupted. WithAnother is that outcome, which is nobody's choice.
var (
	ErrWithAnother = fmt.Errorf("another request was dismissed: %w", convert.ErrCancelled)
	WithAnother    = convert.Outcome{Status: convert.Withdrawn, Reason: "Withdrawn: another question was cancelled"}
)

// Along is why an asking goes that no person was shown, along with what a person
// ended: a turn, a session. It matches what that was, and is nobody's choice.
type Along struct{ With error }

func (a Along) Error() string { return a.With.Error() }

// Unwrap returns what it goes along with.
func (a Along) Unwrap() error { return a.With }

// Outcome is that of an asking which goes for a reason that has a person's cancel in it,
// or for none; false for any other reason. Only what a person saw is what they cancelled.
func Outcome(why error) (o convert.Outcome, ok bool) {
	var along Along
	o = convert.Outcome{Status: convert.Withdrawn}
	switch {
	case errors.Is(why, ErrWithAnother):
		return WithAnother, true
	case errors.As(why, &along):
		o.Reason = "Withdrawn: " + along.Error()
	case errors.Is(why, convert.ErrCancelled):
		o = convert.Outcome{Status: convert.Cancelled, Reason: convert.CancelMessage}
	case why == context.Canceled:
		o.Reason = "The question was withdrawn"
	default:
		return convert.Outcome{}, false
	}
	return o, true
}

// Ends says what an outcome is to an asking. A person's act settles it; anything else
// withdraws it, and is never told as a person's choice.
func Ends(s convert.Status) Event {
	if s.ByPerson() {
		return Settle
	}
	return Withdraw
}

// StatusOf reads a status as it is kept and sent, with the name of who did it. Before
// there was a word for it, what was withdrawn was cancelled by nobody.
func StatusOf(word, by string) (s convert.Status, ok bool) {
	for s = convert.Answered; s.String() != word; s++ {
		if s == convert.Withdrawn {
			return 0, false
		}
	}
	if by == "" && (s == convert.Cancelled || s == convert.Declined) {
		s = convert.Withdrawn
	}
	return s, true
}
