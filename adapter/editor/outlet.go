package editor

import (
	"cmp"
	"sync/atomic"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/conn"
	"github.com/acp-bridge/acp-bridge/internal/life"
	"github.com/acp-bridge/acp-bridge/internal/session"
)

// outlet sends a session's updates in order. While a question waits for the
// next prompt no prompt runs, and updates of the turn are held: first in
// memory, then by not reading the agent.
//
// Who may wait here, and for what:
//
//	who                                    for room   for the editor to read
//	the reader of the agent                yes        yes
//	a request's own goroutine (asking.run)  yes        yes
//	a goroutine that answers the editor    no         yes (UpdateNow)
//	conn's reader (Accept, Notify)         no         no
//	whoever has Session.mu (perform)       no         no
//
// Room comes with an answer, which conn's reader brings, so that nothing that
// conn's reader waits for may wait for room. The last two send nothing but the text
// of a question, where there is room for it (hold): Holds and Stuck are all that
// they may call.
type outlet struct {
	s     *Session
	begin []byte // of the notification of a chunk, up to its kind

	lane    *conn.Lane[struct{}] // whoever has it sends
	holding atomic.Bool          // set by whoever has the lane
	stuck   atomic.Pointer[chan struct{}]

	// Of the lane.
	held  [][]byte
	bytes int           // of held
	room  chan struct{} // closed when there is room again; nil if there is
}

// maxHeld and maxHeldBytes bound what is held in memory. One update is always
// taken, however large it is.
const (
	maxHeld      = 1000
	maxHeldBytes = 4 << 20
)

func newOutlet(s *Session) *outlet {
	o := &outlet{s: s, lane: conn.NewLane[struct{}](nil)}
	o.begin = clean.AppendJSON([]byte(updateHead+`{"sessionId":`), s.id)
	o.begin = append(o.begin, `,"update":{"sessionUpdate":"`...)
	o.makeRoom()
	return o
}

// updateHead is how the notification of an update begins.
const updateHead = `{"jsonrpc":"2.0","method":"` + acp.ClientMethodSessionUpdate + `","params":`

// Update sends an update of the turn, or holds it. It blocks while the editor
// does not read, and while too much is held.
func (o *outlet) Update(update acp.SessionUpdate) { o.UpdateOf("", update) }

// UpdateOf is Update of a session within this one, a sub-agent's: it has its
// place among this one's updates. Without an id it is one of this session.
func (o *outlet) UpdateOf(session string, update any) {
	session = cmp.Or(session, o.s.id)
	if u, ok := update.(acp.SessionUpdate); ok {
		o.put(o.encode(acp.SessionNotification{SessionId: acp.SessionId(session), Update: u}), true)
		return
	}
	o.put(o.encode(struct {
		SessionID string `json:"sessionId"`
		Update    any    `json:"update"`
	}{session, update}), true)
}

// encode is the notification with these parameters, nil if it cannot be made.
func (o *outlet) encode(params any) []byte {
	body, err := conn.Encode(params)
	if err != nil {
		o.report(err)
		return nil
	}
	line := make([]byte, 0, len(updateHead)+len(body)+1)
	return append(append(append(line, updateHead...), body...), '}')
}

// Kinds of text.
const (
	MessageChunk = "agent_message_chunk"
	ThoughtChunk = "agent_thought_chunk"
)

// Text sends a message or a thought in one piece. Most updates are chunks, so
// they are encoded by hand.
func (o *outlet) Text(kind, text string) {
	if text != "" {
		o.put(o.chunk(kind, life.UUID(), text), true)
	}
}

// Stream sends a chunk of a message or a thought of that id, on the goroutine
// that reads the agent. It may stay until [Session.Flush] is called, which is when
// there is no more to read.
func (o *outlet) Stream(kind, message, text string) {
	if text != "" {
		o.put(o.chunk(kind, message, text), false)
	}
}

// chunk is the notification of one.
func (o *outlet) chunk(kind, message, text string) []byte {
	if kind == MessageChunk {
		o.s.tells(func(w *about.Words) { w.Say(text) })
	}
	b := make([]byte, 0, len(o.begin)+len(text)+len(message)+120)
	b = append(b, o.begin...)
	b = append(b, kind...)
	b = append(b, `","content":{"type":"text","text":`...)
	b = clean.AppendJSON(b, text)
	b = append(b, `},"messageId":`...)
	b = clean.AppendJSON(b, message)
	return append(b, `}}}`...)
}

// put sends the notification of an update, or holds it. What is not urgent may go
// out with the next message.
func (o *outlet) put(line []byte, urgent bool) {
	if line == nil {
		return
	}
	o.lane.Enter()
	defer o.lane.Leave()
	for o.holding.Load() && (len(o.held) >= maxHeld || o.bytes >= maxHeldBytes) && o.s.ctx.Err() == nil {
		o.awaitRoom()
	}
	if o.holding.Load() {
		o.held = append(o.held, line)
		o.bytes += len(line)
		return
	}
	o.send(line, urgent)
}

// awaitRoom leaves the lane until there may be room, or the session ends.
func (o *outlet) awaitRoom() {
	if o.room == nil {
		o.room = make(chan struct{})
		close(*o.stuck.Load())
	}
	room := o.room
	o.lane.Leave()
	defer o.lane.Enter()
	o.s.Flush() // does not wait
	select {
	case <-room:
	case <-o.s.ctx.Done():
	}
}

// makeRoom releases whoever is stuck.
func (o *outlet) makeRoom() {
	stuck := make(chan struct{})
	o.stuck.Store(&stuck)
	if o.room != nil {
		close(o.room)
		o.room = nil
	}
}

// Stuck is closed while the agent is not read because too much is held: its
// replies do not arrive either.
func (o *outlet) Stuck() <-chan struct{} { return *o.stuck.Load() }

// UpdateNow sends an update that does not belong to a turn.
func (o *outlet) UpdateNow(update acp.SessionUpdate) {
	if info := update.SessionInfoUpdate; info != nil && info.Title != nil {
		o.s.tells(func(w *about.Words) { w.Name(*info.Title) })
	}
	line := o.encode(acp.SessionNotification{SessionId: acp.SessionId(o.s.id), Update: update})
	if line == nil {
		return
	}
	o.lane.Enter()
	defer o.lane.Leave()
	o.send(line, true)
}

// send is for whoever has the lane. A session that is closed has nothing more to
// say, and does not wait for an editor that does not read.
func (o *outlet) send(line []byte, urgent bool) {
	o.report(o.s.front.connection().Send(o.s.ctx, acp.ClientMethodSessionUpdate, line, urgent))
}

func (o *outlet) report(err error) {
	if err != nil {
		o.s.front.log.Debug("update not sent", "session", o.s.id, "err", err)
	}
}

// Holds reports whether updates wait for the next prompt.
func (o *outlet) Holds() bool { return o.holding.Load() }

// hold sends a last text, which may stay until [Session.Flush] is called, and holds
// all that comes behind it. The event happens with it: whoever has read the text
// finds that the session knows.
func (o *outlet) hold(text string, event func() session.Event) {
	line := o.chunk(MessageChunk, life.UUID(), text)
	o.lane.Enter()
	defer o.lane.Leave()
	for {
		var full <-chan struct{}
		o.s.happens(func() session.Event {
			var err error
			if o.s.ctx.Err() == nil {
				full, err = o.s.front.connection().Offer(acp.ClientMethodSessionUpdate, line)
				o.report(err)
			}
			if full != nil {
				return nil
			}
			o.holding.Store(true)
			return event()
		})
		if full == nil {
			return
		}
		select {
		case <-full:
		case <-o.s.ctx.Done():
		case <-o.s.front.connection().Done():
		}
	}
}

// release sends what is held, in order, before anything new.
func (o *outlet) release() {
	o.s.waits.Store("")
	o.lane.Enter()
	defer o.lane.Leave()
	for _, line := range o.held {
		o.send(line, false)
	}
	o.s.Flush()
	o.held, o.bytes = nil, 0
	o.holding.Store(false)
	if o.room != nil {
		o.makeRoom()
	}
}
