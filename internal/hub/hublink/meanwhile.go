package hublink

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/life"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// meanwhileTime is how long a hub is asked for an answer that it may have: a
// person waits to be asked.
const meanwhileTime = 2 * time.Second

// Left is the outcome that a person gave a question at the hub while no process
// asked it.
type Left struct {
	question *question
	outcome  convert.Outcome
	by       string
	at       time.Time // when it was given
}

// Wait returns the outcome, with the error that it matches.
func (l *Left) Wait() (convert.Outcome, error) { return l.outcome, l.outcome.Err() }

// By says who gave it.
func (l *Left) By() string { return l.by }

// Deliver hands the outcome over: the hub is told that it is used when use has
// returned nil. Until then it is there for whoever comes next, also on another machine,
// but for nobody else while use runs: the error is then [life.ErrTaken].
func (l *Left) Deliver(use func() error) error { return life.Deliver(l, use) }

// renewTime is how often the hub is told that an outcome is being handed over. It is less
// than a lease of the hub, which is how long it believes that.
const renewTime = 5 * time.Second

// Hold implements [life.Kept]. It waits for another process that is at it: that may be
// dead.
func (l *Left) Hold() (release func(), err error) {
	q := l.question
	ctx, cancel := context.WithCancel(q.link.ctx)
	if err := l.claim(ctx); err != nil {
		cancel()
		return nil, err
	}
	q.link.runs(func() {
		for proc.Sleep(ctx, renewTime); ctx.Err() == nil; proc.Sleep(ctx, renewTime) {
			_, _, _ = q.post(ctx, q.at("/received"), clean.JSON(Received{Claim: true, Asker: q.link.nonce}))
		}
	})
	return cancel, nil
}

// claim makes the outcome that of this process, as soon as no other one is at it. A hub
// that says nothing is not waited for: the outcome is here, and the agent waits for it.
func (l *Left) claim(ctx context.Context) error {
	q := l.question
	for heard := time.Now(); ; proc.Sleep(ctx, time.Second) {
		one, cancel := proc.Context(ctx, meanwhileTime)
		if reply, there := q.look(one); there && !l.is(reply) {
			cancel()
			return life.ErrTaken
		}
		status, _, err := q.post(one, q.at("/received"), clean.JSON(Received{Claim: true, Asker: q.link.nonce}))
		cancel()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil || status >= http.StatusInternalServerError {
			if time.Since(heard) > meanwhileTime {
				return nil
			}
			continue
		}
		heard = time.Now()
		if status == http.StatusOK {
			return nil
		}
		switch reply, there := q.look(ctx); {
		case there && !l.is(reply):
			return life.ErrTaken
		case status != http.StatusConflict: // nobody is at it
			return nil
		}
	}
}

// Keep implements [life.Kept].
func (l *Left) Keep(life.Event) error {
	l.question.link.runs(l.question.consumed)
	return nil
}

// looked is what the hub says of a question.
type looked struct {
	By, Receipt string
	At          time.Time
	Result      json.RawMessage
}

// waits reports whether a person's outcome is there and was not used.
func (r looked) waits() bool {
	return r.By != "" && (r.Receipt == "accepted" || r.Receipt == "delivered")
}

// is reports whether it is this outcome that waits: another may have been asked for since.
func (l *Left) is(r looked) bool { return r.waits() && r.At.Equal(l.at) }

// look reads a question, and reports whether the hub said anything.
func (q *question) look(ctx context.Context) (r looked, ok bool) {
	status, data, err := q.send(ctx, http.MethodGet, "/questions/"+url.PathEscape(q.id), nil)
	return r, err == nil && status == http.StatusOK && json.Unmarshal(data, &r) == nil
}

// Meanwhile finds what is [Left] of a question that a predecessor of this process asked.
// It returns nil if there is nothing, and where the hub does not reply at once. To look is
// not to take.
func (l *Link) Meanwhile(ctx context.Context, c convert.Call) *Left {
	ctx, cancel := proc.Context(ctx, meanwhileTime)
	defer cancel()
	q := &question{link: l, path: l.pathOf(c.Session)}
	c.Input = nil
	_, data, err := q.send(ctx, http.MethodPost, "/left", clean.JSON(Asking{Kind: desk.Question.String(), Asker: l.nonce, Call: c}))
	var reply struct {
		Question string
		looked
	}
	if err != nil || json.Unmarshal(data, &reply) != nil || !reply.waits() {
		return nil
	}
	o, _, by, err := DecodeOutcome(reply.Result)
	if err != nil || !o.Status.ByPerson() || o.Status == convert.Answered && o.Check(c) != nil {
		return nil
	}
	q.id = reply.Question
	return &Left{q, o, by, reply.At}
}
