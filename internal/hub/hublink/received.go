package hublink

import (
	"slices"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Received tells the hub what became of its answer to a question: nil says that the
// agent has it, and an error why it never will. Whoever asks may know it before the
// desk's watchers have been told that the answer stands.
func (l *Link) Received(session, id string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	name := callName{session, id}
	list := l.delivered[session]
	i := slices.IndexFunc(list, func(q *question) bool { return q.entry.Call.ID == id })
	if i < 0 {
		l.early[name] = err
		return
	}
	q := list[i]
	if l.delivered[session] = slices.Delete(list, i, i+1); len(l.delivered[session]) == 0 {
		delete(l.delivered, session)
	}
	l.receive(q, err)
}

// deliver notes that the desk has the hub's answer. mu is held.
func (l *Link) deliver(q *question) {
	name := callName{q.entry.Call.Session, q.entry.Call.ID}
	if err, ok := l.early[name]; ok {
		delete(l.early, name)
		l.receive(q, err)
		return
	}
	l.delivered[name.session] = append(l.delivered[name.session], q)
}

// receive tells the hub what became of an answer. mu is held.
func (l *Link) receive(q *question, err error) {
	if l.closed {
		return
	}
	if err == nil {
		l.running.Go(q.consumed)
		return
	}
	why := clean.Line(err.Error())
	l.running.Go(func() { q.tell(q.at("/received"), Received{Refused: why, Asker: q.link.nonce}) })
}
