package editor

import (
	"context"
	"encoding/json"
	"sync"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// outlet sends a session's updates in order. While a question waits for the
// next prompt no prompt runs, and updates of the turn are held: first in
// memory, then by not reading the agent.
//
// Who may wait here, and for what:
//
//	who                                    for room   for the editor to read
//	the reader of the agent                yes        yes
//	a request's own goroutine (asked.run)  yes        yes
//	a goroutine that answers the editor    no         yes (UpdateNow)
//	conn's reader (Accept, Notify)         no         no
//	whoever has Session.mu (perform)       no         no
//
// Room comes with an answer, which conn's reader brings, so that nothing that
// conn's reader waits for may wait for room. The last two send nothing: Holds and
// Stuck are all that they may call. mu is held while nothing is sent or waited for.
type outlet struct {
	s     *Session
	begin []byte // of a chunk, up to its kind

	mu      sync.Mutex
	freed   sync.Cond
	sending bool // somebody sends; others wait until that is done
	holding bool
	held    []json.RawMessage
	bytes   int           // of held
	full    chan struct{} // closed while the reader of the agent waits
}

// maxHeld and maxHeldBytes bound what is held in memory. One update is always
// taken, however large it is.
const (
	maxHeld      = 1000
	maxHeldBytes = 4 << 20
)

func newOutlet(s *Session) *outlet {
	o := &outlet{s: s, full: make(chan struct{})}
	o.begin = clean.AppendJSON([]byte(`{"sessionId":`), s.id)
	o.begin = append(o.begin, `,"update":{"sessionUpdate":"`...)
	o.freed.L = &o.mu
	context.AfterFunc(s.ctx, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.freed.Broadcast()
	})
	return o
}

// Update sends an update of the turn, or holds it. It blocks while the editor
// does not read, and while too much is held.
func (o *outlet) Update(update acp.SessionUpdate) {
	o.put(acp.SessionNotification{SessionId: acp.SessionId(o.s.id), Update: update}, true)
}

// UpdateOf is Update of a session within this one, a sub-agent's: it has its
// place among this one's updates. Without an id it is one of this session.
func (o *outlet) UpdateOf(session string, update any) {
	if session == "" {
		session = o.s.id
	}
	params, err := json.Marshal(struct {
		SessionID string `json:"sessionId"`
		Update    any    `json:"update"`
	}{session, update})
	if err != nil {
		o.report(err)
		return
	}
	o.put(json.RawMessage(params), true)
}

// Kinds of text.
const (
	MessageChunk = "agent_message_chunk"
	ThoughtChunk = "agent_thought_chunk"
)

// Text sends a chunk of a message or a thought. Most updates are chunks, so
// they are encoded by hand.
func (o *outlet) Text(kind, text string) { o.chunk(kind, text, true) }

// Stream is Text on the goroutine that reads the agent. It may stay until
// [Session.Flush] is called, which is when there is no more to read.
func (o *outlet) Stream(kind, text string) { o.chunk(kind, text, false) }

func (o *outlet) chunk(kind, text string, urgent bool) {
	if text == "" {
		return
	}
	b := make([]byte, 0, len(o.begin)+len(text)+100)
	b = append(b, o.begin...)
	b = append(b, kind...)
	b = append(b, `","content":{"type":"text","text":`...)
	b = clean.AppendJSON(b, text)
	o.put(json.RawMessage(append(b, `}}}`...)), urgent)
}

// put sends parameters of session/update, as JSON or as a notification. What is
// not urgent may go out with the next message.
func (o *outlet) put(params any, urgent bool) {
	if !o.mayPut(params) {
		return
	}
	defer o.sent(nil)
	if urgent {
		o.notify(params)
		return
	}
	c := o.s.front.connection()
	switch p := params.(type) {
	case json.RawMessage:
		o.report(c.Queue(o.s.ctx, acp.ClientMethodSessionUpdate, p))
	case acp.SessionNotification:
		o.report(c.QueueUpdate(o.s.ctx, p))
	}
}

// mayPut waits for its turn and for room. It reports false if the update is held;
// else the caller sends it, and then calls sent.
func (o *outlet) mayPut(params any) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.wait(); o.holding && (len(o.held) >= maxHeld || o.bytes >= maxHeldBytes) && o.s.ctx.Err() == nil; o.wait() {
		o.fill()
		o.s.Flush() // does not wait
		o.freed.Wait()
	}
	if o.holding {
		o.keep(params)
		return false
	}
	o.sending = true
	return true
}

// wait waits until nobody sends. mu is held.
func (o *outlet) wait() {
	for o.sending {
		o.freed.Wait()
	}
}

// send waits for its turn. The caller calls sent when it has sent.
func (o *outlet) send() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wait()
	o.sending = true
}

// sent lets others send, and does something before they can.
func (o *outlet) sent(then func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sending = false; then != nil {
		then()
	}
	o.freed.Broadcast()
}

// keep holds an update, encoded: what it takes is counted. mu is held.
func (o *outlet) keep(params any) {
	line, ok := params.(json.RawMessage)
	if !ok {
		raw, err := json.Marshal(params)
		if err != nil {
			o.report(err)
			return
		}
		line = raw
	}
	o.held = append(o.held, line)
	o.bytes += len(line)
}

// fill notes that too much is held. mu is held.
func (o *outlet) fill() {
	select {
	case <-o.full:
	default:
		close(o.full)
	}
}

// Stuck is closed while the agent is not read because too much is held: its
// replies do not arrive either.
func (o *outlet) Stuck() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.full
}

// UpdateNow sends an update that does not belong to a turn.
func (o *outlet) UpdateNow(update acp.SessionUpdate) {
	o.send()
	defer o.sent(nil)
	o.notify(acp.SessionNotification{SessionId: acp.SessionId(o.s.id), Update: update})
}

func (o *outlet) notify(params any) {
	// A session that is closed has nothing more to say, and must not wait for an
	// editor that does not read.
	o.report(o.s.front.connection().Notify(o.s.ctx, acp.ClientMethodSessionUpdate, params))
}

func (o *outlet) report(err error) {
	if err != nil {
		o.s.front.log.Debug("update not sent", "session", o.s.id, "err", err)
	}
}

// hold begins to hold updates.
func (o *outlet) hold() {
	o.send() // what is being sent was there before
	o.sent(func() { o.holding = true })
}

// Holds reports whether updates wait for the next prompt.
func (o *outlet) Holds() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.holding
}

// release sends what is held, in order, before anything new.
func (o *outlet) release() {
	o.send()
	defer o.sent(func() {
		o.held, o.bytes, o.holding = nil, 0, false
		o.full = make(chan struct{})
	})
	for _, params := range o.held { // nobody adds to it meanwhile
		o.notify(params)
	}
}
