package hublink

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/acp-bridge/acp-bridge/convert"
)

// meanwhileTime is how long a hub is asked for an answer that it may have: a
// person waits to be asked.
const meanwhileTime = 2 * time.Second

// Meanwhile finds the outcome that a person gave a question at the hub while no
// process asked it, and tells the hub that it is used. It returns false if there
// is none, and where the hub does not reply at once.
func (l *Link) Meanwhile(ctx context.Context, c convert.Call) (o convert.Outcome, by string, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, meanwhileTime)
	defer cancel()
	q := &question{link: l, id: c.ID, path: "/conversations/" + url.PathEscape(c.Session)}
	if l.idOf(c.ID) != c.ID || l.conversationOf(c.Session) != c.Session {
		return o, "", false // a name that means nothing to another process
	}
	status, data, err := q.send(ctx, http.MethodGet, "/questions/"+url.PathEscape(c.ID), nil)
	if err != nil || status != http.StatusOK {
		return o, "", false
	}
	var reply struct {
		By, Receipt string
		Result      json.RawMessage
	}
	if json.Unmarshal(data, &reply) != nil || reply.By == "" || reply.Receipt != "accepted" && reply.Receipt != "delivered" {
		return o, "", false
	}
	o, _, by, err = DecodeOutcome(reply.Result)
	if err != nil || by == "" || o.Status != convert.Answered && o.Status != convert.Cancelled || o.Status == convert.Answered && o.Check(c) != nil {
		return convert.Outcome{}, "", false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return convert.Outcome{}, "", false
	}
	l.running.Go(q.consumed)
	return o, by, true
}
