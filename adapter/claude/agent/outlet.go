package agent

import (
	"context"
	"sync"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter/conn"
)

// outlet sends a session's updates in order. While a question waits for the
// next prompt no prompt runs, and updates of the turn are held: first in
// memory, then by not reading the CLI.
type outlet struct {
	s *session

	mu      sync.Mutex
	freed   sync.Cond
	holding bool
	held    []any
	full    chan struct{} // closed while the reader of the CLI waits
}

// maxHeld bounds how many updates are held in memory.
const maxHeld = 1000

func (o *outlet) init(s *session) {
	o.s = s
	o.freed.L = &o.mu
	o.full = make(chan struct{})
	context.AfterFunc(s.ctx, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.freed.Broadcast()
	})
}

// send sends an update of the turn, or holds it. It blocks while the editor
// does not read, and while too much is held.
func (o *outlet) send(update acp.SessionUpdate) {
	o.put(acp.SessionNotification{SessionId: acp.SessionId(o.s.id), Update: update}, true)
}

const (
	messageChunk = "agent_message_chunk"
	thoughtChunk = "agent_thought_chunk"
)

// text sends a chunk of a message or a thought. Most updates are chunks, so
// they are encoded by hand.
func (o *outlet) text(kind, text string) { o.chunk(kind, text, true) }

// stream is text on the goroutine that reads the CLI. It goes out when there is
// no more to read.
func (o *outlet) stream(kind, text string) { o.chunk(kind, text, false) }

func (o *outlet) chunk(kind, text string, urgent bool) {
	if text == "" {
		return
	}
	b := make([]byte, 0, len(text)+160)
	b = append(b, `{"sessionId":"`...)
	b = append(b, o.s.id...) // a UUID
	b = append(b, `","update":{"sessionUpdate":"`...)
	b = append(b, kind...)
	b = append(b, `","content":{"type":"text","text":`...)
	b = conn.AppendString(b, text)
	o.put(conn.Encoded(append(b, `}}}`...)), urgent)
}

// put sends parameters of session/update. What is not urgent may go out with the
// next message.
func (o *outlet) put(params any, urgent bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.holding && len(o.held) >= maxHeld && o.s.ctx.Err() == nil {
		o.fill()
		o.s.agent.connection().Hurry()
		o.freed.Wait()
	}
	if o.holding {
		o.held = append(o.held, params)
		return
	}
	if urgent {
		o.notify(params)
	} else {
		o.report(o.s.agent.connection().NotifySoon(o.s.ctx, acp.ClientMethodSessionUpdate, params))
	}
}

// fill notes that too much is held. mu is held.
func (o *outlet) fill() {
	select {
	case <-o.full:
	default:
		close(o.full)
	}
}

// stuck is closed while the CLI is not read because too much is held: replies
// of the CLI do not arrive either.
func (o *outlet) stuck() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.full
}

// now sends an update that does not belong to a turn.
func (o *outlet) now(update acp.SessionUpdate) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.notify(acp.SessionNotification{SessionId: acp.SessionId(o.s.id), Update: update})
}

func (o *outlet) notify(params any) {
	// A session that is closed has nothing more to say, and must not wait for an
	// editor that does not read.
	o.report(o.s.agent.connection().Notify(o.s.ctx, acp.ClientMethodSessionUpdate, params))
}

func (o *outlet) report(err error) {
	if err != nil {
		o.s.agent.log.Debug("update not sent", "session", o.s.id, "err", err)
	}
}

// hold begins to hold updates.
func (o *outlet) hold() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.holding = true
}

// holds reports whether updates wait for the next prompt.
func (o *outlet) holds() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.holding
}

// release sends what is held, in order, before anything new.
func (o *outlet) release() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, params := range o.held {
		o.notify(params)
	}
	o.held, o.holding = nil, false
	o.full = make(chan struct{})
	o.freed.Broadcast()
}
