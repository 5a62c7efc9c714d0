package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
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
	// Name is that of the question in its conversation, which whoever asks has minted.
	// Callers of the API chose it: it is the call's id. Without either this is a question
	// of its own.
	Name string
	// Again is that of [life.Claimant].
	Again bool
	// May is that of [Ref].
	May      func(context.Context) error
	Dialect  string
	Document json.RawMessage
	// Call is what is asked.
	Call convert.Call
	// Hold is that of [Record]. What has one needs a name, and is never taken over.
	Hold *Hold
}

// Ask keeps a question, or finds the record that it is already, among those of the same
// device in the same conversation:
//
//	| the question                                         | Ask returns                     |
//	|------------------------------------------------------|---------------------------------|
//	| has the name and words of one of the same process    | that record, settled or not     |
//	| has the name of one of the same process, and others  | a new record; an open one fails |
//	| is one that a process which is gone left, and that   | that record, which the asking   |
//	| may be taken over, see [life.Claim]                  | process has from then on        |
//	| is anything else, or asks anew, see Record.asksAnew  | a new record                    |
//
// While it is not known whether a process is gone, Ask waits, and looks again.
func (b *Board) Ask(ctx context.Context, a Asking) (*Record, error) {
	r, err := a.record()
	if err != nil {
		return nil, err
	}
	began, graceLeft, caughtUp := time.Now(), true, !b.store.Shared()
	for {
		f := peek(b, func(s *state) found { return s.match(r, began) })
		if f.unsure && !caughtUp {
			if err := b.CatchUp(ctx); err != nil {
				return nil, err
			}
			caughtUp = true
			continue
		}
		if f.nameTaken && graceLeft {
			// This may be the last request of a process that has died. It must not open its
			// question once more, for nobody: it has a moment to hang up.
			f.wait, graceLeft = max(f.wait, b.moment()), false
		}
		if f.wait > 0 {
			if err := pause(ctx, f.wait, f.changed); err != nil {
				return nil, err
			}
			continue
		}
		var now *Record
		switch {
		case f.known != nil:
			if b.store.Shared() { // the other hubs do not see that its asker is here
				b.tellOthers([]asking{{f.known.key, f.known.Asker}})
			}
			return f.known, nil
		case f.left != nil:
			now, err = b.takeOver(ctx, r, f.left, a.May)
		default:
			now, err = b.openNew(ctx, r, f, a.May)
		}
		if !errors.Is(err, hubstore.ErrConflict) {
			return now, err
		}
		if ctx.Err() != nil { // another was first, and this caller is gone
			return nil, ctx.Err()
		}
	}
}

// record is a question as it is asked.
func (a Asking) record() (*Record, error) {
	r := &Record{
		Group: a.Group, Conversation: a.Conversation, ID: cmp.Or(a.Name, a.Call.ID), Kind: a.Kind, Title: a.Title,
		Agent: a.Agent, Machine: a.Machine, Dir: a.Dir, Device: a.Device, Asker: a.Asker,
		Detail: a.Detail, About: a.About, Dialect: a.Dialect, Document: a.Document, Call: a.Call, Hold: a.Hold, again: a.Again && a.Call.ID != "",
	}
	r.Kind = cmp.Or(r.Kind, "question")
	if !utf8.ValidString(r.Group) || !utf8.ValidString(r.Conversation) || !utf8.ValidString(r.ID) || !utf8.ValidString(r.Call.ID) {
		return nil, fmt.Errorf("%w: expected UTF-8", ErrBadID)
	}
	r.Call.Session, r.Call.Input = "", nil
	r.hash = r.fingerprint()
	if call, err := r.documented(); err == nil && reflect.DeepEqual(call, r.Call) {
		r.inDocument, r.Version = true, documentVersion
	}
	return r, nil
}

// match is what a conversation has for a call, as the table of [Board.Ask] says.
func (s *state) match(r *Record, began time.Time) (f found) {
	f.asked = time.Now().Round(0)
	var others []*Record
	for _, o := range s.talks[r.talk()] { // the newest last
		if !f.asked.After(o.Asked) {
			f.asked = o.Asked.Add(1)
		}
		if r.ID != "" && o.ID == r.ID {
			f.generation = max(f.generation, generationOf(o.key)+1)
		}
		named := o.named(r.ID, r.Asker)
		switch {
		case !o.Of(r.Device) || (o.Asker == "") != (r.Asker == ""): // each has its own
		case named && o.Asker == r.Asker && o.hash != r.hash:
			f.known = nil // what was asked before is past
			if o.Open() {
				f.replaced = o
			}
		case named && o.Asker == r.Asker:
			f.known = o
			if r.asksAnew(o) {
				f.known = nil
			}
		case r.Asker != "" && r.Hold == nil && o.Hold == nil:
			f.nameTaken = f.nameTaken || named
			others = append(others, o)
		}
	}
	if f.known == nil {
		f.left, f.wait = s.claim(r, others, began)
	}
	if f.left != nil {
		f.changed = s.changed(f.left.key)
	}
	if f.known != nil {
		s.hears(f.known)
	}
	f.nameTaken = f.nameTaken && f.known == nil && f.left == nil
	// Another hub may know of something to take over, or that an outcome was used.
	if f.unsure = r.again; f.known != nil {
		f.unsure = r.Asker == "" && !f.known.Open()
	}
	return f
}

// asksAnew reports whether a call opens another question under the name of one: that has
// ended for it.
func (r *Record) asksAnew(o *Record) bool {
	switch {
	case o.Open():
		return false
	case r.Hold != nil: // nobody has ended it, or what they said had no use: its dialog is open still
		return o.End.By == "" || o.End.Undelivered != ""
	}
	return r.Asker == "" && (o.over() || o.End.Forgotten || o.owner().State == life.Withdrawn)
}

// found is what a conversation has for a call.
type found struct {
	known    *Record // the same question
	left     *Record // what it takes over, once there is nothing to wait for
	replaced *Record // open under the same name, with other questions
	// generation is free under the call's name, and asked is when it is asked:
	// after all others of the conversation, also when the clock was set back.
	generation int
	asked      time.Time
	unsure     bool // another hub may know better
	nameTaken  bool // another process has its name
	// wait is how long it takes until it is known whether what would be taken over is
	// left, unless it changes before.
	wait    time.Duration
	changed <-chan struct{}
}

// claim finds what a call takes over. While it is not known whether that is left, wait
// says how long that takes.
func (s *state) claim(r *Record, others []*Record, began time.Time) (*Record, time.Duration) {
	by := life.Claimant{Session: r.Conversation, ID: r.Call.ID, Again: r.again, Words: r.words()}
	for _, o := range slices.Backward(others) {
		if o.Call.ID != r.Call.ID { // most differ, and that is fast
			continue
		}
		gone, soon := s.gone(o, r.Asker, began)
		left := life.Left{Session: o.Conversation, ID: o.Call.ID, State: o.owner().State, Gone: gone || soon > 0, Words: o.words()}
		if life.Claim(by, []life.Left{left}) < 0 || !o.Open() && o.End.Forgotten {
			break
		}
		return o, soon
	}
	return nil, 0
}

// takeOver makes a process the owner of what its predecessor left. What that had taken
// and not used is there once more.
func (b *Board) takeOver(ctx context.Context, r, left *Record, may func(context.Context) error) (*Record, error) {
	next := left.ownedBy(r.Asker, r.ID)
	if !next.Open() {
		next.End.Taken = time.Now() // it is given to it now
	}
	written, err := b.write(ctx, next, left, may)
	if err == nil {
		b.step(func(s *state) {
			delete(s.leases, written.key) // what was known of the one before
			s.hears(written)
		})
	}
	return written, err
}

// ownedBy is a record that another process has taken over, under its own name for it.
func (r *Record) ownedBy(process, name string) *Record {
	next := *r
	if next.Asker, next.As = process, name; name == r.ID {
		next.As = ""
	}
	next.Shown = r.shownBefore()
	if !next.Open() {
		end := *r.End
		end.Taken, end.Claimed, end.Delivered, end.Unsure = time.Time{}, time.Time{}, time.Time{}, ""
		next.End = &end
	}
	return &next
}

// shownBefore are the revisions under which people saw a question, for one that is about to
// be written with the same words.
func (r *Record) shownBefore() []uint64 {
	if !r.Open() {
		return r.Shown
	}
	return append(slices.Clone(r.Shown), r.Revision)[max(0, len(r.Shown)+1-maxShown):]
}

// maxShown bounds how often a question that was taken over is known as it was before.
const maxShown = 16

// openNew opens a new record.
func (b *Board) openNew(ctx context.Context, r *Record, f found, may func(context.Context) error) (*Record, error) {
	made := *r
	made.ID = cmp.Or(made.ID, "q_"+life.Mint()[:16])
	made.key, made.Asked = keyOf(r.talk(), made.ID, f.generation), f.asked
	w := writingOf(&made)
	if err := errors.Join(b.fits(&made, nil, len(w.value)), b.bounded(&made, w.size), b.makeRoom(ctx, r.Device)); err != nil {
		return nil, err // and the one that is open under its name stays
	}
	if f.replaced != nil {
		end := &End{Outcome: convert.Failed.String(), Reason: "The agent asked something else under the same id"}
		if _, err := b.settle(ctx, f.replaced, end, "", may); err != nil && !errors.Is(err, ErrSettled) {
			return nil, err
		}
	}
	written, err := b.writeAs(ctx, w, nil, may)
	if err != nil {
		return nil, err
	}
	b.step(func(s *state) { s.hears(written) })
	b.count.Step(func(s *Stats) { s.Asked++ })
	return written, nil
}

// Left finds what a call would take over that a person has settled, also if its predecessor
// has died with it. To look is not to take: [Board.Claim] does, by its name.
func (b *Board) Left(ctx context.Context, a Asking) (*Record, error) {
	r, err := a.record()
	if err != nil {
		return nil, err
	}
	if err := b.CatchUp(ctx); err != nil {
		return nil, err
	}
	r.ID, r.again = "", r.Call.ID != ""
	see := func(s *state) found { return s.match(r, time.Time{}) }
	f := peek(b, see)
	for ; f.wait > 0; f = peek(b, see) {
		if err := pause(ctx, f.wait, f.changed); err != nil {
			return nil, err
		}
	}
	if f.left != nil && !f.left.Open() && f.left.End.By != "" {
		return f.left, nil
	}
	return nil, fmt.Errorf("nothing was left answered in conversation %q: %w", r.Conversation, ErrNotFound)
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
