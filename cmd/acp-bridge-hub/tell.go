package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// teller tells somebody outside of a question, and takes that back when it is
// settled.
type teller interface {
	// name tells it from others; it is shown nowhere.
	name() string
	wants(r *hub.Record) bool
	tell(ctx context.Context, r *hub.Record, id string)
	takeBack(ctx context.Context, r *hub.Record, id string)
}

// follow returns what tells until stop is closed, and then what is left to be
// told. What waits already was told before the hub was started again.
func follow(ctx context.Context, stop <-chan struct{}, board *hub.Board, turn turn, to teller) (run func()) {
	reader := board.Read(0)
	told := map[string]bool{} // by key
	changes, more := reader.Next()
	for _, r := range changes {
		if r.Open() {
			told[r.Key()] = true
		}
	}
	return func() {
		for last := false; !last; {
			select {
			case <-more:
			case <-stop:
				last = true
			case <-board.Done():
				last = true
			}
			changes, more = reader.Next()
			for _, r := range changes {
				switch key := r.Key(); {
				case r.Open() && !told[key] && to.wants(r):
					told[key] = true
					if id := noticeID(r); turn.begin(ctx, to.name(), id) {
						to.tell(ctx, r, id)
					}
				case !r.Open() && told[key]:
					delete(told, key)
					if id := noticeID(r); to.wants(r) && turn.end(ctx, to.name(), id) {
						to.takeBack(ctx, r, id)
					}
				}
			}
		}
	}
}

// noticeID names a question in what is told, and says nothing about it. What is
// asked once more has another one.
func noticeID(r *hub.Record) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %d", r.Group, r.Conversation, r.ID, r.Asked.UnixNano()))
	return hex.EncodeToString(sum[:8])
}

// messageOf has no word of the question, unless text is set.
func messageOf(r *hub.Record, text bool) string {
	if !text {
		return "A question is waiting for you."
	}
	return clean.Truncate(clean.Line(r.Call.Questions[0].Text), 300)
}

// endingOf says what became of a question.
func endingOf(r *hub.Record) string { return "It was " + r.End.Outcome + "." }

// browsers are those that have asked for pushes.
type browsers struct {
	server *web.Server
	text   bool
	long   time.Duration // see longTime
}

func (b browsers) name() string             { return "browsers" }
func (b browsers) wants(r *hub.Record) bool { return b.server.Pushes(r, web.PushQuestion) }

func (b browsers) tell(ctx context.Context, r *hub.Record, id string) {
	b.server.Push(ctx, r, id, web.PushQuestion, b.text)
}

func (b browsers) takeBack(ctx context.Context, r *hub.Record, id string) {
	b.server.PushOver(ctx, r, id, web.PushQuestion, endingOf(r))
}

// longTime is how long something waits before browsers are told so, of those who want
// it.
const longTime = 10 * time.Minute

// tellLong returns what tells browsers of what has waited for long, until stop is
// closed. What had waited so long before is not told of.
func (b browsers) tellLong(ctx context.Context, stop <-chan struct{}, board *hub.Board, turn turn) (run func()) {
	reader := board.Read(0)
	l := longWait{browsers: b, begin: time.Now(), turn: turn, waits: map[string]*hub.Record{}, told: map[string]bool{}}
	return func() {
		for {
			changes, more := reader.Next()
			for _, r := range changes {
				l.change(ctx, r)
			}
			select {
			case <-more:
			case <-time.After(l.tell(ctx, time.Now())):
			case <-stop:
				return
			case <-board.Done():
				return
			}
		}
	}
}

// longWait is what is known of what waits for long, and will.
type longWait struct {
	browsers
	turn  turn
	begin time.Time
	waits map[string]*hub.Record // by key
	told  map[string]bool        // by key
	due   time.Time              // nothing that waits is due before; zero if nothing waits
}

const longName = "browsers that want to know what waits for long"

// change notes that a question was asked, or is settled.
func (l *longWait) change(ctx context.Context, r *hub.Record) {
	key, due := r.Key(), r.Asked.Add(l.long)
	delete(l.waits, key)
	switch {
	case r.Open() && !l.told[key] && !due.Before(l.begin):
		if l.waits[key] = r; l.due.IsZero() || due.Before(l.due) {
			l.due = due
		}
	case l.told[key] && !r.Open():
		delete(l.told, key)
		if id := noticeID(r); l.turn.end(ctx, longName, id) {
			l.server.PushOver(ctx, r, id, web.PushWaiting, endingOf(r))
		}
	}
}

// tell tells of what has waited for long by now, and returns when to look again. It looks
// at all that waits only when something may be due: there may be many thousands.
func (l *longWait) tell(ctx context.Context, now time.Time) (next time.Duration) {
	if l.due.IsZero() {
		return l.long
	}
	if l.due.After(now) {
		return l.due.Sub(now)
	}
	l.due = time.Time{}
	for key, r := range l.waits {
		if due := r.Asked.Add(l.long); due.After(now) {
			if l.due.IsZero() || due.Before(l.due) {
				l.due = due
			}
			continue
		}
		delete(l.waits, key)
		if id := noticeID(r); l.server.Pushes(r, web.PushWaiting) && l.turn.begin(ctx, longName, id) {
			l.told[key] = true
			l.server.Push(ctx, r, id, web.PushWaiting, l.text)
		}
	}
	if l.due.IsZero() {
		return l.long
	}
	if soon := now.Add(l.long / 600); l.due.Before(soon) { // many may be due one after the other
		l.due = soon
	}
	return l.due.Sub(now)
}
