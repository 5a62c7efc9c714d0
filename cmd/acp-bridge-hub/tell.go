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
	told := map[string]bool{}
	changes, more := reader.Next()
	for _, r := range changes {
		if r.Open() {
			told[noticeID(r)] = true
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
				id := noticeID(r)
				switch {
				case r.Open() && !told[id] && to.wants(r):
					if told[id] = true; turn.begin(ctx, to.name(), id) {
						to.tell(ctx, r, id)
					}
				case !r.Open() && told[id]:
					if delete(told, id); to.wants(r) && turn.end(ctx, to.name(), id) {
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
	const name = "browsers that want to know what waits for long"
	reader := board.Read(0)
	begin := time.Now()
	waits, told := map[string]*hub.Record{}, map[string]bool{}
	return func() {
		for {
			changes, more := reader.Next()
			for _, r := range changes {
				id := noticeID(r)
				switch delete(waits, id); {
				case r.Open() && !told[id] && !r.Asked.Add(b.long).Before(begin):
					waits[id] = r
				case told[id] && !r.Open():
					if delete(told, id); turn.end(ctx, name, id) {
						b.server.PushOver(ctx, r, id, web.PushWaiting, endingOf(r))
					}
				}
			}
			next := b.long
			for id, r := range waits {
				if left := time.Until(r.Asked.Add(b.long)); left > 0 {
					next = min(next, left)
					continue
				}
				if delete(waits, id); b.server.Pushes(r, web.PushWaiting) && turn.begin(ctx, name, id) {
					told[id] = true
					b.server.Push(ctx, r, id, web.PushWaiting, b.text)
				}
			}
			due := time.NewTimer(next)
			select {
			case <-more:
			case <-due.C:
			case <-stop:
				return
			case <-board.Done():
				return
			}
			due.Stop()
		}
	}
}
