package hub

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"time"

	"github.com/acp-bridge/acp-bridge/adapter/desk/jetstream"
	"github.com/acp-bridge/acp-bridge/convert"
)

// Asking is a question that somebody asks.
type Asking struct {
	Conversation                     string
	Kind, Title, Agent, Machine, Dir string
	Detail                           string
	Dialect                          string
	Document                         json.RawMessage
	// Call is what is asked. Its ID may be empty.
	Call convert.Call
}

// Ask keeps a question. The same question again is the record that there is: the
// same id with the same questions until its result was consumed, or the same
// questions in the same conversation while they are open or their answer has
// reached nobody.
func (b *Board) Ask(ctx context.Context, a Asking) (*Record, error) {
	r := &Record{
		Conversation: a.Conversation, ID: a.Call.ID, Kind: a.Kind, Title: a.Title,
		Agent: a.Agent, Machine: a.Machine, Dir: a.Dir,
		Detail: a.Detail, Dialect: a.Dialect, Document: a.Document, Call: a.Call,
	}
	if r.Kind == "" {
		r.Kind = "question"
	}
	r.Call.Session, r.Call.Input = "", nil
	r.hash = hashOf(r.Kind, r.Call)
	for {
		known, replaced, generation := b.match(r)
		if known != nil {
			b.heard(known)
			return known, nil
		}
		if replaced != nil {
			end := &End{Outcome: convert.Failed.String(), Reason: "The agent asked something else under the same id"}
			if _, err := b.settle(ctx, replaced, end); err != nil && !errors.Is(err, ErrSettled) {
				return nil, err
			}
		}
		made := *r
		if made.ID == "" {
			made.ID = "q_" + rand.Text()[:16]
		}
		made.Call.ID = made.ID
		made.key, made.Asked = keyOf(made.Conversation, made.ID, generation), time.Now()
		switch written, err := b.write(ctx, &made, nil); {
		case err == nil:
			return written, nil
		case !errors.Is(err, jetstream.ErrConflict):
			return nil, err
		}
	}
}

// match finds the record that is the same question, or one that is open under
// the same id with other questions, and how many there were under that id.
func (b *Board) match(r *Record) (known, replaced *Record, generation int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	talk := b.talks[r.Conversation]
	for i := len(talk) - 1; i >= 0; i-- {
		o := talk[i]
		sameID := r.ID != "" && o.ID == r.ID
		if sameID {
			generation++
		}
		switch {
		case known != nil:
		case o.hash == r.hash && sameID && (o.Open() || o.End.Consumed.IsZero() && o.End.Undelivered == ""):
			known = o
		case o.hash == r.hash && (o.Open() || o.unheard()):
			known = o
		case sameID && o.Open():
			replaced = o
		}
	}
	return known, replaced, generation
}

// unheard reports whether a person has ended the question and no asker knows.
func (r *Record) unheard() bool {
	return r.End.By != "" && r.End.Delivered.IsZero() && r.End.Undelivered == ""
}

// Wait returns the record once it is settled, or as it is when ctx ends. The
// asker counts as there meanwhile.
func (b *Board) Wait(ctx context.Context, r *Record) *Record {
	defer b.listen(r)()
	for r.Open() && ctx.Err() == nil {
		next, err := b.await(ctx, r.key, r.Revision+1)
		if err != nil {
			break
		}
		r = next
	}
	return r
}
