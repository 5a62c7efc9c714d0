package hublink

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/grace"
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
}

// Wait returns the outcome, with the error that it matches.
func (l *Left) Wait() (convert.Outcome, error) { return l.outcome, l.outcome.Err() }

// By says who gave it.
func (l *Left) By() string { return l.by }

// Deliver hands the outcome over: the hub is told that it is used when use has
// returned nil. Until then it is there for whoever comes next.
func (l *Left) Deliver(use func() error) error {
	if err := use(); err != nil {
		return err
	}
	link := l.question.link
	link.mu.Lock()
	defer link.mu.Unlock()
	if !link.closed {
		link.running.Go(l.question.consumed)
	}
	return nil
}

// Meanwhile finds what is [Left] of a question. It returns nil if there is nothing,
// and where the hub does not reply at once. To look is not to take.
func (l *Link) Meanwhile(ctx context.Context, c convert.Call) *Left {
	ctx, cancel := grace.Context(ctx, meanwhileTime)
	defer cancel()
	q := &question{link: l, id: c.ID, path: "/conversations/" + url.PathEscape(c.Session)}
	if l.idOf(c.ID) != c.ID || l.conversationOf(c.Session) != c.Session {
		return nil // a name that means nothing to another process
	}
	status, data, err := q.send(ctx, http.MethodGet, "/questions/"+url.PathEscape(c.ID), nil)
	if err != nil || status != http.StatusOK {
		return nil
	}
	var reply struct {
		By, Receipt string
		Result      json.RawMessage
	}
	if json.Unmarshal(data, &reply) != nil || reply.By == "" || reply.Receipt != "accepted" && reply.Receipt != "delivered" {
		return nil
	}
	o, _, by, err := DecodeOutcome(reply.Result)
	if err != nil || by == "" || o.Status != convert.Answered && o.Status != convert.Cancelled || o.Status == convert.Answered && o.Check(c) != nil {
		return nil
	}
	return &Left{q, o, by}
}
