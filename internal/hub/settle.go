package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
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
	if ref.Asker != "" && !b.asks(r, ref.Asker) {
		return nil, ErrNotAsker
	}
	asker, may := ref.Asker, ref.May
	ref = r.Ref()
	ref.May = may
	end := &End{Outcome: o.Status.String(), Answers: ask.Kept(r.Call, o.Answers), Reason: o.Reason, By: by, Elsewhere: true, Delivered: now, Consumed: now, Askers: []string{asker}, Taker: asker}
	settled, err := b.settle(ctx, r, end, ref.May)
	var late *SettledError
	if errors.As(err, &late) {
		_, refused := b.Refuse(ctx, ref, tooLate(o, by))
		return nil, errors.Join(err, refused)
	}
	return settled, err
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

// AskedBy reports whether a process has asked a question. Where askers have no names,
// anybody may have.
func (b *Board) AskedBy(r *Record, asker string) bool {
	if r.Asker == "" && len(b.askers(r)) == 0 {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.askedIt(r, asker)
}

// SucceededBy reports whether a process may have what another one asked: that one does
// not wait here. Whoever resumes a session finds the answer without asking again.
func (b *Board) SucceededBy(r *Record, asker string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.leases[r.key]
	return asker != "" && (l == nil || l.listening == 0)
}

// asks reports whether it is this process that asks a question, as far as known.
func (b *Board) asks(r *Record, asker string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.asker(r)
	return now == "" || now == asker
}

// asker is the process that asked a question last, or empty. mu is held.
func (b *Board) asker(r *Record) string {
	if l := b.leases[r.key]; l != nil && l.asker != "" {
		return l.asker
	}
	return r.Asker
}

// askers are the processes that asked a question after the first one, as far as
// known, and those that say so.
func (b *Board) askers(r *Record, too ...string) (all []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := slices.Clone(too)
	if r.End != nil {
		known = append(known, r.End.Askers...)
	}
	if l := b.leases[r.key]; l != nil {
		known = append(known, l.askers...)
	}
	for _, a := range known {
		if a != "" && a != r.Asker && !slices.Contains(all, a) {
			all = last(all, a, maxAskers)
		}
	}
	return all
}

// had reports whether a process has asked the question and has its outcome. A
// request of it that comes now was under way for long: it asks nothing new.
func (r *Record) had(asker string) bool {
	if asker == "" || r.Open() || r.End.Consumed.IsZero() {
		return false
	}
	if r.End.Taker != "" {
		return asker == r.End.Taker
	}
	return asker == r.Asker || slices.Contains(r.End.Askers, asker) // an older hub wrote it
}

// Take reports whether the outcome of a question that a process has waited for is for
// that one, which ref names. It is not where another one has asked it since: that one
// gets it.
func (b *Board) Take(ctx context.Context, r *Record, ref Ref) (bool, error) {
	return b.take(ctx, r, ref, func(*Record) bool { return false })
}

// TakeOver is Take for a process of which [Board.Ask] has found that the outcome is its
// own now, whoever had it before, or would have had it. It reports false if that one has
// used it meanwhile, or a third one was faster.
func (b *Board) TakeOver(ctx context.Context, r *Record, ref Ref) (bool, error) {
	return b.take(ctx, r, ref, func(now *Record) bool {
		l := b.leases[r.key]
		faster := l != nil && time.Since(l.taken) < b.using || b.store.Shared() && now.End.Taker != r.End.Taker
		return now.End.Consumed.IsZero() && !faster
	})
}

// take gives an outcome to the process that has it or asked it last, or to one that may
// take it over. Nobody else gets it from then on: at this board, and where others may ask
// at another one, or it is not known who has asked, as the store has it.
func (b *Board) take(ctx context.Context, r *Record, ref Ref, over func(now *Record) bool) (bool, error) {
	now, err := b.lockRecord(r.key)
	if err != nil || now == nil || now.Open() {
		b.mu.Unlock()
		return false, cmp.Or(err, ErrNotFound)
	}
	l := b.leases[r.key]
	holder, had := b.holder(now), b.hasIt(now)
	if holder != "" && holder != ref.Asker && !over(now) {
		b.mu.Unlock()
		return false, nil
	}
	alone := l != nil && holder == ref.Asker && (len(l.askers) == 0 || len(l.askers) == 1 && l.askers[0] == now.Asker)
	undo := l.gives(ref.Asker)
	b.mu.Unlock()
	if now.End.Taker == ref.Asker && holder == ref.Asker || alone && !b.store.Shared() {
		return true, nil
	}
	taken, err := b.receive(ctx, ref, func(e *End, _ time.Time) {
		if e.Consumed.IsZero() && (e.Taker == now.End.Taker || e.Taker == had) { // that it had it may be noted meanwhile
			e.Taker = ref.Asker
		}
	})
	if err == nil && taken.End.Taker == ref.Asker {
		return true, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	undo()
	return false, err
}

// gives notes who gets the outcome. mu is held, also by undo.
func (l *lease) gives(taker string) (undo func()) {
	if l == nil {
		return func() {}
	}
	before, then, now := l.taker, l.taken, time.Now()
	l.taker, l.taken = taker, now
	return func() {
		if l.taker == taker && l.taken == now {
			l.taker, l.taken = before, then
		}
	}
}

// hasIt is the process that has the outcome of a question, or gets it now, as far as this
// board knows. mu is held.
func (b *Board) hasIt(r *Record) string {
	l := b.leases[r.key]
	if !r.Open() && l != nil && l.taker != "" {
		return l.taker
	}
	return r.taker()
}

// isTaken reports whether a process has the outcome, or may have it: the hub that was here
// before this one may have given it to its asker, and not noted it. mu is held.
func (b *Board) isTaken(r *Record) bool {
	return b.hasIt(r) != "" || b.leases[r.key] == nil && r.unheard() && !r.Gone && !b.store.Shared()
}

// uses is how long the process that has an outcome still has to say that it used it:
// until then nobody else gets it. mu is held.
func (b *Board) uses(r *Record) time.Duration {
	if r.Gone {
		return 0
	}
	since := r.known
	if l := b.leases[r.key]; l != nil && l.taken.After(since) {
		since = l.taken
	}
	return max(0, time.Until(since.Add(b.using)))
}

// usingTime is more than it takes a process that is there to hand an outcome to its agent.
const usingTime = 5 * time.Second

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
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.own.Err() != nil {
		return
	}
	b.done.Go(func() {
		select {
		case <-time.After(b.soon):
		case <-b.own.Done():
			if !b.store.Connected() {
				return // nobody waits for a cluster that is not there
			}
		}
		if b.saidMore(ref.key) {
			return
		}
		if _, err := b.Delivered(context.WithoutCancel(ctx), ref); err != nil && !errors.Is(err, errClosing) {
			b.log.Warn("a delivery could not be noted", "err", err)
		}
	})
}

// saidMore reports whether an asker has said what it made of an outcome.
func (b *Board) saidMore(key string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.records[key]
	return r != nil && r.over()
}

// soonTime is how long an asker has to say what it made of an outcome, also where the hub
// has much to do: each that is noted before is one more write. It is less than it takes
// until an asker counts as gone, see [goneTime].
const soonTime = 250 * time.Millisecond

// Claim lets one process hand an outcome to the agent, of several that have taken a
// session up again: nobody else may meanwhile, which is [ErrNotAsker]. A claim lasts as
// long as a lease, by this board's clock, and is renewed by the next one. What was used is
// a [SettledError].
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
		b.mu.Lock()
		if b.claimed(r, ref.Asker) || b.isTaken(r) && b.holder(r) != ref.Asker && b.uses(r) > 0 {
			b.mu.Unlock()
			return nil, ErrNotAsker
		}
		undo := b.leases[r.key].gives(ref.Asker)
		b.mu.Unlock()
		end, next := *r.End, *r
		end.Claimed, end.Taker, end.Askers = time.Now(), ref.Asker, b.askers(r, ref.Asker)
		next.End = &end
		written, err := b.write(ctx, &next, r, ref.May)
		if err == nil {
			return written, nil
		}
		b.mu.Lock()
		undo()
		b.mu.Unlock()
		if !errors.Is(err, hubstore.ErrConflict) {
			return nil, err
		}
	}
}

// claimed reports whether another process may be handing the outcome to the agent now.
func (b *Board) claimed(r *Record, asker string) bool {
	return r.End != nil && !r.End.Claimed.IsZero() && r.End.Taker != asker && time.Since(r.known) < b.opts.Lease
}

// Consumed is described at [Board.Delivered].
func (b *Board) Consumed(ctx context.Context, ref Ref) (*Record, error) {
	return b.receive(ctx, ref, func(e *End, now time.Time) {
		if e.Consumed = now; e.Delivered.IsZero() {
			e.Delivered = now
		}
	}, life.TakeOver, life.Take, life.Use) // whoever says so has it
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
		state := r.life()
		for _, e := range events {
			if state, err = state.Step(e); err != nil {
				return r, nil // it is known already, or came too late
			}
		}
		end, next := *r.End, *r
		note(&end, time.Now())
		uses := r.End.Consumed.IsZero() && !end.Consumed.IsZero()
		if ref.Asker != "" && !end.Delivered.IsZero() && (end.Taker == "" || uses) {
			end.Taker = ref.Asker
		}
		end.Askers = b.askers(r, ref.Asker)
		next.End = &end
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
	seen := func(r *Record) bool {
		return (ref.Revision == 0 || ref.Revision == r.Revision) && (ref.Fingerprint == "" || ref.Fingerprint == r.hash)
	}
	r, err := b.current(ctx, ref, func(r *Record) bool { return r.Open() && seen(r) })
	if err != nil {
		return nil, err
	}
	if r.Open() && !seen(r) {
		return nil, ErrRevision
	}
	if ref.Fingerprint != "" && ref.Fingerprint != r.hash {
		return nil, ErrRevision // what has ended here is something else
	}
	if r.Open() && ref.ID != "" && ref.Revision == 0 && ref.key == "" {
		if several, err := b.several(r); err != nil || several {
			return nil, cmp.Or(err, ErrSeveral)
		}
	}
	end, err := make(r)
	if err != nil {
		if !r.Open() {
			err = &SettledError{r.End}
		}
		return nil, err
	}
	written, err := b.settle(ctx, r, end, ref.May)
	var late *SettledError
	if errors.As(err, &late) && end.same(late.End) {
		return r, nil
	}
	return written, err
}

// settle gives an open record its end. If somebody was first, the error is a
// [SettledError].
func (b *Board) settle(ctx context.Context, r *Record, end *End, may func(context.Context) error) (*Record, error) {
	for r.Open() {
		next := *r
		end.At, end.Askers = time.Now(), b.askers(r, end.Askers...)
		next.End, next.About = end, r.About.Kept()
		if end.Redacted {
			next.Version = max(next.Version, redactedVersion)
		}
		written, err := b.write(ctx, &next, r, may)
		if err == nil {
			b.count.ended(&next)
			b.log.Info("question is settled", "conversation", r.Conversation, "question", r.ID, "outcome", end.Outcome, "by", end.By)
			return written, nil
		}
		if !errors.Is(err, hubstore.ErrConflict) {
			return nil, err
		}
		if r, err = b.get(r.key); err != nil || r == nil {
			return nil, cmp.Or(err, ErrNotFound)
		}
	}
	return nil, &SettledError{r.End}
}
