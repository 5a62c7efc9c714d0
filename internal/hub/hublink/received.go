package hublink

import (
	"errors"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/life"
)

// Unsure says why it is not known, until now, whether the agent has taken an answer.
type Unsure string

func (u Unsure) Error() string { return string(u) }

// Received tells the hub what became of its answer to a question: nil says that the
// agent has it, an error why it never will, and [Unsure] that either may still be told.
// Of a question that was withdrawn, which is [life.ErrGone], the hub keeps the answer: the
// agent may ask again.
// Of an answer that is not the hub's it says nothing. Whoever asks may know it before the
// desk has said whose answer stands.
func (l *Link) Received(name string, err error) {
	if name == l.nonce {
		select {
		case l.told <- struct{}{}:
		default:
		}
		return
	}
	l.shared.Step(func() {
		switch q := l.delivered[name]; {
		case q == nil:
		case l.closed && q.stands: // nobody waits for it to be told
		case !q.stands:
			q.early = &receipt{err}
		default:
			l.receive(q, err)
		}
	})
}

// receipt is what became of an answer.
type receipt struct{ err error }

// delivers notes that the hub's answer goes to the desk.
func (l *Link) delivers(q *question) {
	l.shared.Step(func() { l.delivered[q.entry.Name] = q })
}

// deliver notes what the desk said to that: nil if the hub's answer stands there.
func (l *Link) deliver(q *question, o convert.Outcome, err error) {
	l.shared.Step(func() {
		if err != nil {
			delete(l.delivered, q.entry.Name)
			return
		}
		delete(l.open, q.entry.Name)
		l.answered(q, o)
		q.stands = true
		if q.early != nil {
			l.receive(q, q.early.err)
		}
	})
}

// receive tells the hub what became of an answer. It is called in a step.
func (l *Link) receive(q *question, err error) {
	told := Received{Asker: q.link.nonce}
	if errors.As(err, new(Unsure)) {
		told.Unsure = clean.Line(err.Error())
	} else {
		delete(l.delivered, q.entry.Name)
	}
	if errors.Is(err, life.ErrGone) && q.entry.Kind != desk.Permission {
		return
	}
	if err == nil {
		l.running.Go(q.consumed)
		return
	}
	if told.Unsure == "" {
		told.Refused = clean.Line(err.Error())
	}
	l.running.Go(func() { q.tell(q.at("/received"), told) })
}
