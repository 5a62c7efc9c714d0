package hub

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/hub/hubstore"
	"github.com/acp-bridge/acp-bridge/internal/life"
)

// Answer settles an open question with what read makes of it. Errors of read
// leave the question open and are returned. The same answer by the same person
// again is no error; anything else for a settled question is a [SettledError].
func (b *Board) Answer(ctx context.Context, ref Ref, read func(*Record) ([]convert.Answer, error), by string) (*Record, error) {
	return b.end(ctx, ref, func(r *Record) (*End, error) {
		answers, err := read(r)
		if err != nil {
			return nil, err
		}
		o := convert.Outcome{Status: convert.Answered, Answers: answers}
		if err := o.Check(r.Call); err != nil {
			return nil, fmt.Errorf("%w: %w", convert.ErrBadAnswer, err)
		}
		end := &End{Outcome: o.Status.String(), Answers: o.InOrder(r.Call).Answers, By: by}
		end.redact(r.Call)
		return end, nil
	})
}

// redact keeps a secret that was typed apart from what everybody may see.
func (e *End) redact(c convert.Call) {
	if shown := ask.Kept(c, e.Answers); !reflect.DeepEqual(shown, e.Answers) {
		e.Answers, e.Typed, e.Redacted = shown, e.Answers, true
	}
}

// Cancel settles an open question as if the user had dismissed it.
func (b *Board) Cancel(ctx context.Context, ref Ref, by string) (*Record, error) {
	return b.end(ctx, ref, func(*Record) (*End, error) {
		return &End{Outcome: convert.Cancelled.String(), Reason: convert.CancelMessage, By: by}, nil
	})
}

// TakeBack settles a question for its asker, who has an outcome from elsewhere.
// An answer that the hub had accepted before becomes undeliverable, and the
// error is its [SettledError].
func (b *Board) TakeBack(ctx context.Context, ref Ref, o convert.Outcome, by string) (*Record, error) {
	now, by := time.Now(), clean.Truncate(by, maxName)
	r, err := b.current(ctx, ref, (*Record).Open)
	if err != nil {
		return nil, err
	}
	ref = Ref{Group: r.Group, Conversation: r.Conversation, ID: r.ID, key: r.key, Asker: ref.Asker, May: ref.May}
	end := &End{Outcome: o.Status.String(), Answers: ask.Kept(r.Call, o.Answers), Reason: o.Reason, By: by, Elsewhere: true, Delivered: now, Consumed: now}
	settled, err := b.settle(ctx, r, end, ref.Asker, ref.May)
	if errors.As(err, new(*SettledError)) {
		_, refused := b.Refuse(ctx, ref, tooLate(o, by))
		return nil, errors.Join(err, refused)
	}
	return settled, err
}

// Abandon settles what a device has asked that is removed, and whose answer nobody has had:
// the next one of its name is another.
func (b *Board) Abandon(ctx context.Context, device string) error {
	err := b.CatchUp(ctx)
	for _, r := range peek(b, func(s *state) []*Record { return slices.Collect(maps.Values(s.records)) }) {
		if err == nil && r.Device == device && !r.over() {
			_, err = b.TakeBack(ctx, r.Ref(), convert.Outcome{Status: convert.Failed, Reason: "the device that asked was removed"}, "")
		}
		if errors.Is(err, ErrSettled) {
			err = nil
		}
	}
	return err
}

// tooLate says to whom an answer came too late: who was first elsewhere, or why it had
// ended there without anybody.
func tooLate(o convert.Outcome, by string) string {
	switch reason := clean.Truncate(clean.Line(o.Reason), maxName); {
	case by != "":
		return fmt.Sprintf("it was %s elsewhere before,%s", o.Status, refusedBy(by))
	case reason != "":
		return "it came too late: " + reason
	}
	return "it came too late: it was no longer open where it was asked"
}

// isOf reports whether a process may speak of a question: it has it, or one of them has no
// name.
func (r *Record) isOf(asker string) bool { return asker == "" || r.Asker == "" || r.Asker == asker }

// Take gives an outcome to the process that has the question, and reports false if that is
// another one by now. From then on that process has [usingTime] to say that it used it. A
// hub with a store of its own needs to write nothing for that.
func (b *Board) Take(ctx context.Context, r *Record, ref Ref) (mine bool, err error) {
	for {
		var now *Record
		var written bool
		b.step(func(s *state) { now, written = s.give(r.key, ref.Asker) })
		if now == nil || written {
			return now != nil, nil
		}
		switch _, err := b.write(ctx, now, b.get(r.key), ref.May); {
		case err == nil:
			return true, nil
		case !errors.Is(err, hubstore.ErrConflict):
			return false, err
		}
	}
}

// give returns the record as it is when a process was given its outcome, or nil if another
// one has it. It is written if nobody else has to know.
func (s *state) give(key, asker string) (given *Record, written bool) {
	now := s.records[key]
	switch {
	case now == nil || now.Open() || !now.isOf(asker):
		return nil, false
	case now.owner().State != life.Settled && now.owner().State != life.Taken:
		return now, true // it is known to have it, or nobody ever will
	}
	next, end := *now, *now.End
	end.Taken, next.End, next.known = time.Now(), &end, time.Now()
	if s.store.Shared() || s.writing[key] != nil { // another one may be taking it over
		return &next, false
	}
	s.drop(now)
	s.put(&next)
	return &next, true
}

// Delivered notes that the asker's process has the outcome, Consumed that its
// result went back to the agent, and Refuse that it never will. Each is noted
// once; a later one does not undo an earlier one.
func (b *Board) Delivered(ctx context.Context, ref Ref) (*Record, error) {
	return b.receive(ctx, ref, func(e *End, now time.Time) { e.Delivered = now }, life.Take)
}

// DeliveredSoon is Delivered for an asker that will say at once what it made of the
// outcome, as most do: a moment later, in which that makes it unnecessary. It must be
// known by its name and by the id of what it asked: until this is noted, whoever asks
// the same without them asks nothing new. A board that closes notes it before.
func (b *Board) DeliveredSoon(ctx context.Context, ref Ref) {
	b.begin(func() {
		select {
		case <-time.After(b.soon):
		case <-b.own.Done():
			if !b.store.Connected() {
				return // nobody waits for a cluster that is not there
			}
		}
		if peek(b, func(s *state) bool { return s.records[ref.key] != nil && s.records[ref.key].over() }) {
			return // its asker has said what it made of it
		}
		if _, err := b.Delivered(context.WithoutCancel(ctx), ref); err != nil && !errors.Is(err, errClosing) {
			b.log.Warn("a delivery could not be noted", "err", err)
		}
	})
}

// soonTime is how long an asker has to say what it made of an outcome, also where the hub
// has much to do: each that is noted before is one more write. It is less than it takes
// until an asker counts as gone, see [goneTime].
const soonTime = 250 * time.Millisecond

// Claim lets one process hand an outcome to the agent, of several that have taken a
// session up again: nobody else may meanwhile, which is [ErrNotAsker]. A claim lasts as
// long as a lease, by this board's clock, and is renewed by the next one. What was used is
// a [SettledError]. One that dies before it says so leaves the outcome to the next: its agent
// may be told twice what was said to this question, and never loses it.
func (b *Board) Claim(ctx context.Context, ref Ref) (*Record, error) {
	for {
		r, err := b.current(ctx, ref, func(r *Record) bool { return !r.Open() })
		switch {
		case err != nil:
			return nil, err
		case r.Open():
			return nil, fmt.Errorf("%w: the question is open", ErrNotFound)
		case r.over():
			return nil, &SettledError{r.End}
		}
		next := r
		if !r.isOf(ref.Asker) {
			var gone bool
			b.step(func(s *state) { gone, _ = s.gone(r, ref.Asker, time.Time{}) })
			if !gone {
				return nil, ErrNotAsker
			}
			next = r.ownedBy(ref.Asker, r.ID)
		}
		end, claimed := *next.End, *next
		end.Taken, end.Claimed = time.Now(), time.Now()
		claimed.End = &end
		written, err := b.write(ctx, &claimed, r, ref.May)
		if !errors.Is(err, hubstore.ErrConflict) {
			return written, err
		}
	}
}

// Consumed is described at [Board.Delivered].
func (b *Board) Consumed(ctx context.Context, ref Ref) (*Record, error) {
	return b.receive(ctx, ref, func(e *End, now time.Time) {
		if e.Consumed = now; e.Delivered.IsZero() {
			e.Delivered = now
		}
	}, life.TakeOver, life.Take, life.Use)
}

// Ended notes that the process that asked a question, or the session in which it was
// asked, has ended after it.
func (b *Board) Ended(ctx context.Context, ref Ref) (*Record, error) {
	return b.receive(ctx, ref, func(e *End, now time.Time) { e.Ended = now })
}

// Unsure notes why nobody knows whether the agent took an outcome, until that is known.
func (b *Board) Unsure(ctx context.Context, ref Ref, why string) (*Record, error) {
	return b.receive(ctx, ref, func(e *End, now time.Time) {
		if e.Unsure = clean.Truncate(why, maxWhy); e.Delivered.IsZero() {
			e.Delivered = now
		}
	}, life.TakeOver, life.Take)
}

// Refuse is described at [Board.Delivered].
func (b *Board) Refuse(ctx context.Context, ref Ref, why string) (*Record, error) {
	return b.receive(ctx, ref, func(e *End, _ time.Time) { e.Undelivered = clean.Truncate(why, maxWhy) },
		life.TakeOver, life.Withdraw) // it may have got there, and was of no use
}

const (
	// maxWhy is how much is kept of why an outcome was refused.
	maxWhy = 300
	// maxName is how much is kept of a name that an asker says: it is in the
	// record, and in what is counted.
	maxName = 100
)

// succeeds reports whether what a process says of a question counts that it does not have:
// that its agent has used the outcome, while the one that has it does not wait for it. A
// hub may have been away when it wanted to claim it.
func (b *Board) succeeds(r *Record, events []life.Event) bool {
	return peek(b, func(s *state) bool {
		l := s.leases[r.key]
		return slices.Contains(events, life.Use) && (l == nil || l.listening == 0)
	})
}

// receive notes what became of an outcome, if those events can happen to it.
func (b *Board) receive(ctx context.Context, ref Ref, note func(*End, time.Time), events ...life.Event) (*Record, error) {
	for {
		r, err := b.current(ctx, ref, func(r *Record) bool { return !r.Open() })
		if err != nil {
			return nil, err
		}
		if r.Open() {
			return nil, fmt.Errorf("%w: the question is open", ErrNotFound)
		}
		if !r.isOf(ref.Asker) && !b.succeeds(r, events) {
			return nil, ErrNotAsker
		}
		state := r.owner().State
		if state == life.Taken && r.End.Delivered.IsZero() {
			state = life.Settled // that it was given is not that it arrived
		}
		for _, e := range events {
			if state, err = state.Step(e); err != nil {
				return r, nil // it is known already, or came too late
			}
		}
		end, next := *r.End, *r
		note(&end, time.Now())
		if next.End = &end; !r.isOf(ref.Asker) {
			next.Asker, next.As = ref.Asker, ""
		}
		if next.over() {
			end.Typed = nil
		}
		written, err := b.write(ctx, &next, r, ref.May)
		if err == nil && end.Typed == nil && r.End.Typed != nil {
			if err := b.store.Trim(ctx, r.key); err != nil {
				b.log.Warn("an earlier value of a question was not removed; it has a secret in it", "conversation", r.Conversation, "question", r.ID, "err", err)
			}
		}
		if !errors.Is(err, hubstore.ErrConflict) {
			return written, err
		}
	}
}

// end settles the question that ref names.
func (b *Board) end(ctx context.Context, ref Ref, make func(*Record) (*End, error)) (*Record, error) {
	same := func(r *Record) bool { return strings.HasPrefix(r.hash, ref.Fingerprint) }
	seen := func(r *Record) bool { return (ref.Revision == 0 || r.Saw(ref.Revision)) && same(r) }
	r, err := b.current(ctx, ref, func(r *Record) bool { return r.Open() && seen(r) })
	if err != nil {
		return nil, err
	}
	if r.Open() && !seen(r) || !same(r) { // or what has ended here is something else
		return nil, ErrRevision
	}
	if r.Open() && ref.Revision == 0 && ref.key == "" {
		switch {
		case r.Kind == "permission": // another one may have taken its place
			return nil, ErrUnseen
		case b.several(r, ref):
			return nil, ErrSeveral
		}
	}
	end, err := make(r)
	if err != nil {
		if !r.Open() {
			err = &SettledError{r.End}
		}
		return nil, err
	}
	written, err := b.settle(ctx, r, end, "", ref.May)
	if late, ok := errors.AsType[*SettledError](err); ok && end.same(late.End) {
		return r, nil
	}
	return written, err
}

// settle gives an open record its end, while it is the asker's, see [Record.isOf]. If
// somebody was first, the error is a [SettledError].
func (b *Board) settle(ctx context.Context, r *Record, end *End, asker string, may func(context.Context) error) (*Record, error) {
	for r.Open() && r.isOf(asker) {
		next := *r
		end.At = time.Now()
		next.End, next.About = end, r.About.Kept()
		if end.Redacted {
			next.Version = max(next.Version, redactedVersion)
		}
		written, err := b.write(ctx, &next, r, may)
		if err == nil {
			b.count.Step(func(s *Stats) { s.ended(&next) })
			b.log.Info("question is settled", "conversation", r.Conversation, "question", r.ID, "outcome", end.Outcome, "by", end.By)
			return written, nil
		}
		if !errors.Is(err, hubstore.ErrConflict) {
			return nil, err
		}
		if r = b.get(r.key); r == nil {
			return nil, ErrNotFound
		}
	}
	if !r.isOf(asker) {
		return nil, ErrNotAsker
	}
	return nil, &SettledError{r.End}
}
