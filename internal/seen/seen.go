// Package seen is the one clock by which a reply counts: only if the person can
// have seen what it answers.
//
// A [Showing] is one thing shown on one surface. The surface feeds it the best
// evidence that it has; from then on a person's time runs. [Judge] is the rule.
//
//	surface                evidence                                    time
//	an editor (ACP)        it answered what was sent behind: Answered  Person
//	                       it emptied the pipe, no more: Taken         Strict
//	a client of a Go host  it was handed over: Sent                    Person
//	a client of MCP, a no  it was handed over: Taken                   Strict
//	the picker, chat       the frame is drawn: Drawn                   Hands
//	lines on a terminal    the question is printed: Drawn              Hands
//	the hub's page         the card is in its place (page.js)          Card
//
// What a reply needs depends on what could have made it without the person:
//
//	reply                                        kind    needs
//	an option, a dismissal, a form as it stood   Pick    evidence, then the time
//	words of the person's own, to this request   Words   nothing: it names its showing, and no program makes it up
//	the next prompt, which names nothing         Prompt  evidence, then the time
//	a key or a line                              Key     evidence, then the time since the last key that did not count
//	a paste, or a burst of keys or lines         none    it is text, where text is typed, and answers nothing
//
// A reply came when it can have been written at the earliest, not when it was read: what
// lay in the pipe when a process that stood still came back is old, see [Inlet]. That is
// known on Linux; elsewhere a reply came when it was read.
//
// An editor is asked behind a question only where that is needed: it is guarded,
// or the question stands in the conversation. Editors that work in order answer
// a request that they do not know after they have come to the question. Some tell
// their users of it: one of which nothing is known is asked until it says so once. One that
// does not answer may have the question in a buffer that nobody looks at, so a
// reply must come later than any script's keypress did.
package seen

import (
	"context"
	"sync"
	"time"
)

// How long a person needs at least.
const (
	// Person is for replies of editors. Automatic ones were seen within 25 ms of
	// the question, keypresses of a script after 700 ms.
	Person = 250 * time.Millisecond
	// Strict is for editors of which nothing is known but that the pipe is empty.
	Strict = 700 * time.Millisecond
	// Card is for clicks on what has just come under the pointer.
	Card = 500 * time.Millisecond
)

// Hands is how long hands must have rested: a key that follows others closely was
// begun before. It is a variable for tests alone, which type faster than people: with
// less than 0 they may type ahead.
var Hands = 400 * time.Millisecond

// Burst is less than what is between two keys that fingers press, or two lines. What is
// closer was pasted, or has waited for us to read it.
const Burst = 25 * time.Millisecond

// Evidence is what is known of a showing, better evidence being greater.
type Evidence int

const (
	None     Evidence = iota
	Taken             // the peer has taken it out of the pipe
	Sent              // it was handed to a client of which no more can be known
	Answered          // the peer has answered what was sent behind it
	Drawn             // it is on the screen
)

// Kind is what a reply is made of.
type Kind int

const (
	Pick Kind = iota
	Words
	Prompt
	Key
)

// Reply is a reply, and what was known when it came.
type Reply struct {
	Kind     Kind
	Evidence Evidence
	// After is how long after the evidence it came.
	After time.Duration
	// Open is set while something that was sent behind the showing has no answer
	// from a peer that may give one, Answers if the peer is known to give them.
	Open, Answers bool
	// Rested is set for a key of hands that have rested in this showing.
	Rested bool
}

// Verdict is what becomes of a reply.
type Verdict int

const (
	// Early is a reply to something else, or of nobody.
	Early Verdict = iota
	// Counts is a reply of a person who can have seen the showing.
	Counts
	// Unsure is one that counts unless the peer now answers what was sent behind
	// the showing: then it had not come to it.
	Unsure
)

// Judge says whether a reply counts.
func Judge(r Reply) Verdict {
	switch {
	case r.Kind == Words:
		return Counts
	case r.Evidence == None:
		return Early
	case r.Evidence == Taken && r.After < Strict:
		return Early
	case r.Evidence == Taken && r.Open && r.Answers:
		return Early
	case r.Evidence == Taken && r.Open:
		return Unsure
	case r.Evidence == Taken:
		return Counts
	case r.Kind == Key && Hands < 0:
		return Counts
	case r.Kind == Key && r.Rested && r.After < 0: // typed before what it changes was drawn
		return Early
	case r.Kind == Key && !r.Rested && r.After < Hands, r.Kind != Key && r.After < Person:
		return Early
	}
	return Counts
}

// Showing is one thing shown. Its methods may be called from any goroutine, and
// on a nil Showing, which is one that nobody doubts.
type Showing struct {
	now func() time.Time

	mu       sync.Mutex
	n        int // how often it was begun anew
	evidence Evidence
	at       time.Time // of the evidence
	from     *Inlet    // where the reply comes from, nil if it is not known
	peer     *Peer     // was asked behind it
	answered chan struct{}
	reply    *Reply // that came, as far as it is known
	verdict  Verdict
	replied  bool
}

// New is a showing that is about to be shown. A nil clock is [time.Now].
func New(now func() time.Time) *Showing {
	if now == nil {
		now = time.Now
	}
	return &Showing{now: now, answered: make(chan struct{})}
}

// Anew is called before the same is shown once more: what was known is of before.
func (s *Showing) Anew() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	s.evidence, s.peer, s.reply, s.replied, s.answered = None, nil, nil, false, make(chan struct{})
}

// Look returns what feeds the showing as it is now: after [Showing.Anew] it feeds
// nothing.
func (s *Showing) Look() Look {
	if s == nil {
		return Look{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return Look{s, s.n}
}

// Look is who looks for evidence.
type Look struct {
	s *Showing
	n int
}

// Found is called when there is evidence. Only better one than before counts.
func (l Look) Found(e Evidence) {
	if l.s == nil {
		return
	}
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if l.n != l.s.n {
		return
	}
	if e == Answered && l.s.evidence < Answered {
		close(l.s.answered)
	}
	if e > l.s.evidence {
		l.s.evidence, l.s.at = e, l.s.now()
		if l.s.from != nil {
			l.s.from.Watch(Strict) // the longest of all times
		}
	}
}

// From says where the reply will come from.
func (l Look) From(in *Inlet) {
	if l.s == nil {
		return
	}
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	l.s.from = in
}

// Evidence is what is known so far.
func (s *Showing) Evidence() Evidence {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.evidence
}

// asked notes that the peer was asked something behind the showing.
func (l Look) asked(p *Peer) {
	if l.s == nil {
		return
	}
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if l.n == l.s.n {
		l.s.peer = p
	}
}

// Came is called by whoever reads the peer when the reply comes, of which it may be
// known later what it is made of.
func (s *Showing) Came() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.came()
}

func (s *Showing) came() {
	if s.reply != nil {
		return
	}
	at := s.now()
	if s.from != nil {
		at = s.from.Since()
	}
	s.reply = &Reply{Evidence: s.evidence, After: at.Sub(s.at)}
	if s.peer != nil {
		s.reply.Open, s.reply.Answers = !s.peer.mute.Load(), s.peer.answers.Load()
	}
}

// Replied judges a reply that came, or comes now. Only the first one counts.
func (s *Showing) Replied(k Kind) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.replied {
		return
	}
	s.came()
	s.replied, s.reply.Kind = true, k
	s.verdict = Judge(*s.reply)
}

// Counts reports whether the reply counts. It waits a moment for the peer if that
// decides.
func (s *Showing) Counts(ctx context.Context) bool {
	if s == nil {
		return true
	}
	s.mu.Lock()
	verdict, answered, peer := s.verdict, s.answered, s.peer
	s.mu.Unlock()
	if verdict != Unsure {
		return verdict == Counts
	}
	t := time.NewTimer(Person)
	defer t.Stop()
	select {
	case <-answered:
		return false
	case <-ctx.Done():
		return false
	case <-t.C:
		peer.Mute(true)
		return true
	}
}

// Witness is a client that looks for evidence of what it is given with the
// context of a showing.
type Witness interface{ FeedsShowings() }

type key struct{}

// Context carries the showing to whoever sends it. Between the two are the methods of
// an ACP client, which hosts write and wrap: a context is all that passes through
// them. It names nothing: without it a reply is judged by less.
func (s *Showing) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, key{}, s)
}

// Of is the showing that is sent with a context, nil if there is none.
func Of(ctx context.Context) *Showing {
	s, _ := ctx.Value(key{}).(*Showing)
	return s
}
