package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/life"
)

// Asking is a question that somebody asks.
type Asking struct {
	// Group is whose question it is; empty is the owner's own.
	Group                            string
	Conversation                     string
	Kind, Title, Agent, Machine, Dir string
	Detail                           string
	About                            about.About
	// Device is whose credential asks. Asker names the process that asks, or is
	// empty: nobody else may take back what it asks.
	Device, Asker string
	// Prompted is that of [life.Claimant].
	Prompted bool
	// May is that of [Ref].
	May      func(context.Context) error
	Dialect  string
	Document json.RawMessage
	// Call is what is asked. Its ID may be empty.
	Call convert.Call
	// Hold is that of [Record]. What has one is never the same as something else,
	// and needs an ID that was minted for it.
	Hold *Hold
}

// Ask keeps a question, or returns the record that is the same question. Only
// records of the same device in the same conversation can be, and for one with a name
// only what was asked by others with one:
//
//	| the call has | the record | it is the same |
//	|---|---|---|
//	| its id, and asks the same | is open, or was not consumed yet | yes, unless it is another's |
//	| its id, and asks the same | is another's: see [Board.anothers] | no: it is open in two places |
//	| its id, and asks the same | was consumed by the same asker | yes: the request is late |
//	| its id, and asks the same | was consumed, and the asker is another or has no name | no, see below |
//	| its id, and asks something else | is open | no: that one failed |
//	| no id, and asks the same | had none, is of the same asker, and is open or nobody has its outcome | yes: the request was made again |
//	| another id, or none, and asks the same | its asker is gone, and see [life.Claim] | yes: it is taken over |
//	| another id, or none, and asks the same | was taken over so by the same asker | yes: the request was made again |
//	| anything else | | no |
//
// A process that asked a question which is another's since may have died, with a request
// under way that would open the question once more for nobody. It has a moment to be gone.
func (b *Board) Ask(ctx context.Context, a Asking) (*Record, error) {
	r := &Record{
		Group: a.Group, Conversation: a.Conversation, ID: a.Call.ID, Kind: a.Kind, Title: a.Title,
		Agent: a.Agent, Machine: a.Machine, Dir: a.Dir, Device: a.Device, Asker: a.Asker,
		Detail: a.Detail, About: a.About, Dialect: a.Dialect, Document: a.Document, Call: a.Call, Hold: a.Hold, prompted: a.Prompted,
	}
	if r.Kind == "" {
		r.Kind = "question"
	}
	if !utf8.ValidString(r.Group) || !utf8.ValidString(r.Conversation) || !utf8.ValidString(r.ID) {
		return nil, fmt.Errorf("%w: expected UTF-8", ErrBadID)
	}
	r.Call.Session, r.Call.Input = "", nil
	r.hash = r.fingerprint()
	done, err := b.turn(ctx, r)
	if err != nil {
		return nil, err
	}
	defer done()
	began, mayBeGone := time.Now(), true
	for caughtUp := !b.store.Shared(); ; {
		found, err := b.match(r, caughtUp, began)
		if err != nil {
			return nil, err
		}
		if found.unsure {
			if err := b.CatchUp(ctx); err != nil {
				return nil, err
			}
			caughtUp = true
			continue
		}
		if found.late && mayBeGone {
			mayBeGone, found.wait = false, max(found.wait, b.moment())
		}
		if found.wait > 0 {
			if err := pause(ctx, found.wait, found.changed); err != nil {
				return nil, err
			}
			continue
		}
		if found.known != nil {
			b.tellOf(found.known, r.ID)
			return found.known, nil
		}
		made := *r
		if made.ID == "" {
			made.ID = "q_" + life.Mint()[:16]
		}
		made.Call.ID = made.ID
		made.key, made.Asked = keyOf(r.talk(), r.named(), found.generation), found.asked
		w := writingOf(&made)
		if err := errors.Join(b.fits(&made, nil, len(w.value)), b.bounded(&made, w.size)); err != nil {
			return nil, err // and the one that is open under its id stays
		}
		if found.replaced != nil {
			end := &End{Outcome: convert.Failed.String(), Reason: "The agent asked something else under the same id"}
			if _, err := b.settle(ctx, found.replaced, end, a.May); err != nil && !errors.Is(err, ErrSettled) {
				return nil, err
			}
		}
		switch written, err := b.writeAs(ctx, w, nil, a.May); {
		case err == nil:
			b.heard(written)
			b.count.asked()
			return written, nil
		case !errors.Is(err, hubstore.ErrConflict):
			return nil, err
		case ctx.Err() != nil: // whoever was first has asked it, and nobody is here
			return nil, ctx.Err()
		}
	}
}

// named is the name by which hubs agree on who is first to ask a call: its id, or
// without one what it asks. Bridges name all that they ask; it is callers of the API
// who send none that words stand in for, so that a request made again asks once.
func (r *Record) named() string {
	if r.ID != "" {
		return r.ID
	}
	return "\x00" + r.hash
}

// turn waits until nobody else asks the same in the same conversation at this hub:
// what the first one asks is then known to the next, whatever its id.
func (b *Board) turn(ctx context.Context, r *Record) (done func(), err error) {
	same := sameAsking{r.talk(), r.hash}
	for {
		b.mu.Lock()
		before := b.asking[same]
		if before == nil {
			mine := make(chan struct{})
			b.asking[same] = mine
			b.mu.Unlock()
			return func() {
				b.mu.Lock()
				defer b.mu.Unlock()
				delete(b.asking, same)
				close(mine)
			}, nil
		}
		b.mu.Unlock()
		select {
		case <-before:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// sameAsking is the same for calls that ask the same in the same conversation.
type sameAsking struct {
	talk talk
	hash string
}

// matched is what a conversation has for a call.
type matched struct {
	known    *Record // the same question
	replaced *Record // open under the same id, with other questions
	// generation is free under the call's name, and asked is when it is asked:
	// after all others of the conversation, also when the clock was set back.
	generation int
	asked      time.Time
	unsure     bool // another hub may know better, see [Board.mayDiffer]
	late       bool // the process has asked it before, and it is another's since
	// wait is how long it takes until it is known whether an asker is gone, unless it is
	// known when changed is closed.
	wait    time.Duration
	changed <-chan struct{}
}

// match finds the record that is the same question. Whoever asks is its asker
// from then on, unless that is unsure.
func (b *Board) match(r *Record, caughtUp bool, began time.Time) (m matched, err error) {
	past, err := b.lockPast(func(a *archive) []*volume {
		if r.ID == "" || r.Hold != nil {
			return nil
		}
		return a.named(r.talk(), r.ID)
	}, func(q bound) bool { return q.talk == r.talk() && q.id == r.ID })
	defer b.mu.Unlock()
	if err != nil {
		return m, err
	}
	m.asked = time.Now().Round(0)
	var own, again *Record
	var soon time.Duration
	var others []*Record
	place := placeOf(r.talk(), r.named())
	if known := b.matchPast(r, past, place, &m); known != nil {
		return matched{known: known}, nil
	}
	for _, o := range b.talks[r.talk()] { // the newest last
		if !m.asked.After(o.Asked) {
			m.asked = o.Asked.Add(1)
		}
		sameID := r.ID != "" && o.ID == r.ID
		if sameID || r.ID == "" && strings.HasPrefix(o.key, place) {
			m.generation = max(m.generation, generationOf(o.key)+1)
		}
		switch {
		case !o.Of(r.Device): // two devices have two questions
		case (o.Asker == "") != (r.Asker == ""): // and so have one with a name and one without
		case r.Hold != nil || o.Hold != nil: // nobody takes up what ends with its connection
		case !sameID && (b.tookOver(o, r) || r.ID == "" && strings.HasPrefix(o.key, place) && r.Asker == b.asker(o)):
			if o.Open() || o.unheard() {
				again = o
			}
		case !sameID:
			others = append(others, o)
		case o.hash == r.hash && o.had(r.Asker):
			return matched{known: o}, nil
		case o.hash == r.hash && (o.Open() || o.End.Consumed.IsZero() && o.End.Undelivered == "" && !o.End.Forgotten):
			another, wait := b.anothers(o, r, began)
			switch {
			case another:
				m.late = m.late || b.askedIt(o, r.Asker)
			case r.Asker != "" && r.Asker == b.holder(o):
				own = o
			default:
				m.known, soon = o, wait
			}
		case o.Open():
			m.replaced = o
		case o.hash == r.hash && b.askedIt(o, r.Asker):
			m.late = true
		}
	}
	switch {
	case own != nil:
		m.known = own
	case m.known != nil:
		m.wait = soon
	case again != nil:
		m.known = again
	default:
		m.known, m.wait = b.claims(r, others)
	}
	m.late = m.late && m.known == nil
	m.unsure = !caughtUp && b.mayDiffer(m.known, r)
	if m.known != nil && m.wait > 0 {
		m.changed = b.changed(m.known.key)
	}
	if m.known != nil && !m.unsure && m.wait == 0 {
		b.join(m.known, r)
	}
	return m, nil
}

// matchPast is match for what is archived, which is the same question only where the asker
// had its outcome. mu is held.
func (b *Board) matchPast(r *Record, past []*Record, place string, m *matched) (known *Record) {
	in, name, _ := parts(place + "0")
	if last := b.archive.talks[in]; last.entry > 0 && last.asked >= m.asked.UnixNano() {
		m.asked = time.Unix(0, last.asked+1)
	}
	b.archive.in(in, func(e entry, _ *volume) {
		if e.name == name {
			m.generation = max(m.generation, int(e.generation)+1)
		}
	})
	for _, o := range past {
		switch {
		case !o.Of(r.Device) || o.Hold != nil || o.hash != r.hash:
		case o.had(r.Asker):
			return o
		case b.askedIt(o, r.Asker):
			m.late = true
		}
	}
	return nil
}

// anothers reports whether a question is one of a process that is not gone, to
// another that asks the same under the same id: their user has one session open
// twice. Each has its own question, and gets its own answer. Soon is when that will
// be known. Where hubs share a store none of them knows for sure who is there, and
// whoever asks under an id has its question, as after a crash.
//
//	| the process that asks now             | the question is another's             |
//	|---------------------------------------|---------------------------------------|
//	| is new, and that one hands the outcome to the agent now | yes, wherever hubs are |
//	| has it, or has no name                | no                                    |
//	| asked it before the one that has it   | yes                                   |
//	| is new, and the one that has it waits | yes, if it still does in a moment     |
//	| is new, and that one was here just now| no, unless it is back in a moment     |
//	| is new, and that one has the outcome  | no, unless it says within usingTime that it used it, wherever hubs are: it may have died with it |
//	| is new, and nobody knows of that one  | no                                    |
//
// mu is held.
func (b *Board) anothers(o, r *Record, began time.Time) (another bool, soon time.Duration) {
	l, holder := b.leases[o.key], b.holder(o)
	if b.claimed(o, r.Asker) {
		return true, 0
	}
	if r.Asker == "" || holder == "" || holder == r.Asker {
		return false, 0
	}
	known := o.End != nil && o.End.Taker != "" || l != nil && l.asker != "" || holder != o.Asker
	if known && b.askedIt(o, r.Asker) && !b.store.Shared() {
		return true, 0
	}
	if b.isTaken(o) {
		return false, b.uses(o)
	}
	if l == nil || l.gone || b.store.Shared() {
		return false, 0
	}
	if l.listening > 0 { // one that was killed may not be noticed yet
		soon = time.Until(began.Add(b.moment()))
		return soon <= 0, max(soon, 0)
	}
	if l.heard.IsZero() {
		return false, 0
	}
	return false, max(time.Until(l.heard.Add(b.moment())), 0)
}

// holder is the process whose question it is: the one that has the outcome, or asked
// last. Who that was is in what is kept, too: a hub that was started anew, or has not heard
// of anybody for long, gives one outcome to one process all the same. Where hubs share a
// store, the order there is not that of asking. mu is held.
func (b *Board) holder(r *Record) string {
	if has := b.hasIt(r); has != "" {
		return has
	}
	if l := b.leases[r.key]; r.End != nil && len(r.End.Askers) > 0 && (l == nil || l.asker == "") && !b.store.Shared() {
		return r.End.Askers[len(r.End.Askers)-1]
	}
	return b.asker(r)
}

// askedIt reports whether a process has asked a question, as far as known. mu is held.
func (b *Board) askedIt(r *Record, asker string) bool {
	l := b.leases[r.key]
	return asker != "" && asker == r.Asker || l != nil && slices.Contains(l.askers, asker) || r.End != nil && slices.Contains(r.End.Askers, asker)
}

// mayDiffer reports whether another hub may know better that a record is the same
// question as a call: that its outcome was used since, or, of a call without an id,
// that it was asked already. Whoever waits under its own id comes again and again,
// and is the one that would know. mu is held.
func (b *Board) mayDiffer(known, r *Record) bool {
	if known == nil {
		return r.ID == ""
	}
	return !known.Open() || known.ID != r.ID || r.Asker != "" && r.Asker != b.asker(known)
}

// tookOver reports whether a record is what a call has taken over before: the
// request is made again. mu is held.
func (b *Board) tookOver(o, r *Record) bool {
	l := b.leases[o.key]
	return l != nil && slices.Contains(l.also, r.ID) && o.hash == r.hash && r.Asker == b.asker(o)
}

// claims finds what a call takes over from an asker that is gone. While it is not
// known whether it is, wait says how long that takes. mu is held.
func (b *Board) claims(r *Record, others []*Record) (found *Record, wait time.Duration) {
	left := make([]life.Left, len(others))
	by := life.Claimant{Session: r.Conversation, ID: r.ID, Prompted: r.prompted, Words: r.words()}
	for i, o := range others {
		if o.hash != r.hash { // most are, and that is fast
			continue
		}
		gone, soon := b.gone(o, r)
		left[i] = life.Left{Session: o.Conversation, ID: o.ID, State: o.life(), Gone: gone || soon > 0, Words: o.words()}
		if soon > 0 && life.Claim(by, left[i:i+1]) == 0 {
			wait = max(wait, soon)
		}
	}
	if i := life.Claim(by, left); i >= 0 {
		found = others[i]
	}
	return found, wait
}

// gone reports whether the asker of a record is, to one who asks the same. Soon is
// when that will be known.
//
//	| the asker of the record               | is gone                               |
//	|---------------------------------------|---------------------------------------|
//	| asks now, too                         | no: it has two questions              |
//	| waits here                            | no                                    |
//	| has a name and was here               | a moment after its last request ended |
//	| has none, or was never here           | when its lease has run out            |
//	| has the outcome                       | nobody knows                          |
//
// mu is held.
func (b *Board) gone(o, r *Record) (gone bool, soon time.Duration) {
	l, asker := b.leases[o.key], b.asker(o)
	switch {
	case asker != "" && asker == r.Asker, !o.Open() && !o.unheard(), b.hasIt(o) != "":
		return false, 0
	case b.isTaken(o):
		soon = b.uses(o)
		return soon <= 0, soon
	case l == nil || l.gone:
		return true, 0
	case l.listening > 0 || asker == "" || l.heard.IsZero():
		return false, 0
	}
	soon = time.Until(l.heard.Add(b.moment()))
	return soon <= 0, max(soon, 0)
}

// goneTime is how long an asker that is there lets pass between two requests.
const goneTime = 500 * time.Millisecond

// moment is goneTime, for leases that are as short.
func (b *Board) moment() time.Duration { return min(goneTime, b.opts.Lease/4) }

// heard notes that the asker of a record is here now.
func (b *Board) heard(r *Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l := b.leases[r.key]; l != nil {
		l.heard = time.Now()
	}
}

func pause(ctx context.Context, d time.Duration, changed <-chan struct{}) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-changed:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// unheard reports whether a person has ended the question and no asker knows.
func (r *Record) unheard() bool {
	return r.life() == life.Settled && r.End.By != "" && !r.End.Forgotten
}

// Wait is [Board.Watch] for the asker, who counts as there meanwhile.
func (b *Board) Wait(ctx context.Context, r *Record) *Record {
	defer b.listen(r)()
	return b.Watch(ctx, r)
}

// Watch returns the record once it is settled, or as it is when ctx ends.
func (b *Board) Watch(ctx context.Context, r *Record) *Record {
	for r.Open() && ctx.Err() == nil {
		next, err := b.await(ctx, r.key, r.Revision+1)
		if err != nil {
			break
		}
		r = next
	}
	return r
}
