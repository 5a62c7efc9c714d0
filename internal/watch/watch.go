// Package watch puts what an agent asks in its own terminal to a hub as well. The
// dialog in the terminal stays: whoever answers first has answered.
//
//	w := watch.Start(hublink.Options{URL: hub, Token: token})
//	defer w.Close()
//	w.Ask(watch.Asking{Item: item, Answer: tell}) // the agent shows a dialog
//	w.End(session, id, outcome, watch.Terminal)   // it was answered there
//
// Whoever watches an agent tells what is open there and what has ended; Answer gives
// the agent what a person said at the hub, and says whether the agent took it. An
// answer that came too late is told as such, and is never one.
//
// # In plain terminals
//
// With a hub, on 16 November 2026 in tmux: answered at the hub first and in the terminal
// first, withdrawn both ways.
//
//	ACP_BRIDGE_REAL_AGENTS=$PWD/.cache/agents ACP_BRIDGE_REAL_AGENTS_LONGER=1 go test ./internal/watch/... -run TestReal -timeout 30m
//
//	agent      version   how                               what
//	OpenCode   1.18.33   acp-bridge hook install opencode  questions, permissions, also of sub-agents
//	Kilo       7.7.7     acp-bridge hook install kilo      the same
//	Codex      0.166.0   acp-bridge watch codex            questions, approvals, tools and forms of MCP servers
//
// The hooks of these run before their dialog. While one waits, the terminal shows nothing, so
// they ask at the hub only while somebody is away, on 17 November 2026:
//
//	Qwen Code    0.24.4   acp-bridge hook install qwen     questions, permissions
//	Copilot CLI  1.0.102  acp-bridge hook install copilot  the same
//	Gemini CLI   0.61.0   acp-bridge hook install gemini   questions; its hooks can allow nothing
//
// Their models get an answer as a refusal with the answer in words. Esc in the terminal takes
// back what Qwen and Gemini ask. Copilot says only later that it was stopped: an answer that
// nobody took is told as that.
//
// Those of these can allow nothing, and show their dialog beside it. They say that they wait, and
// whoever is notified by the hub learns it:
//
//	Kimi Code    2.1.0    acp-bridge hook install kimi     a notice
//	Grok Build   1.0.41   acp-bridge hook install grok     a notice
//
// Codex does not say whose answer to a question or a form it took, nor who granted more
// permissions: the card says that it is not known. It takes no words with a permission. What
// is possible with others says acp-bridge doctor --agents.
package watch

import (
	"context"
	"errors"
	"sync"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
)

// Terminal is who has answered where the agent runs.
const Terminal = "the terminal"

// Asking is a dialog of an agent.
type Asking struct {
	// Item is what is asked. Call.Session and Call.ID name it, as the agent does.
	Item desk.Item
	// Answer tells the agent what a person said elsewhere: an answer, or that the
	// question was dismissed. It returns nil when the agent goes on with that, a
	// [Unsure] such as [ErrUnsure] if that cannot be known, and otherwise why the
	// agent did not take it.
	Answer func(context.Context, convert.Outcome) error
}

// Unsure says why it is not known whether an agent took an answer.
type Unsure = hublink.Unsure

// ErrUnsure means that an agent was told something, and that nothing says whether it
// was the first to do so.
const ErrUnsure = Unsure("the agent does not say whose answer it took")

// Unsure tells the hub why it is not known yet whether the agent takes an answer.
func (w *Watch) Unsure(session, id string, why Unsure) {
	w.link.Received(desk.Ref{Session: session, ID: id}, why)
}

// Watch is what agents ask in their terminals. Its methods may be called from any
// goroutine.
type Watch struct {
	desk    desk.Desk
	link    *hublink.Link
	ctx     context.Context
	cancel  context.CancelFunc
	unwatch func()
	answers sync.WaitGroup

	mu     sync.Mutex
	open   map[name]*asking
	closed bool
}

type name struct{ session, id string }

type asking struct {
	Asking
	ticket *desk.Ticket // nil until the desk has it
}

// Start begins to put what will be asked to a hub.
func Start(o hublink.Options) *Watch {
	w := &Watch{open: map[name]*asking{}}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.unwatch = w.desk.Watch(w.changed)
	w.link = hublink.Start(&w.desk, o)
	return w
}

// Close takes back what is open: nobody watches the agent any more.
func (w *Watch) Close() {
	w.EndAll("the agent has ended, or nobody watches its terminal any more", func(desk.Item) bool { return true })
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.cancel()
	w.answers.Wait() // those on their way are told what became of them
	w.unwatch()
	w.link.Close()
}

// Ask puts a dialog to the hub. One that is open already stays as it is. Ask, End and
// EndAll are called by one goroutine.
func (w *Watch) Ask(a Asking) {
	at := name{a.Item.Call.Session, a.Item.Call.ID}
	a.Item.Prompted = true // nothing of before is this
	it := &asking{Asking: a}
	w.mu.Lock()
	known := w.closed || w.open[at] != nil
	if !known {
		w.open[at] = it
	}
	w.mu.Unlock()
	if known {
		return
	}
	ticket, err := w.desk.Post(w.ctx, a.Item)
	if err == nil {
		ticket.Asking(0, "terminal") // it stands there: the end of another does not end it
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if it.ticket = ticket; err != nil {
		delete(w.open, at)
	}
}

// End says how something has ended where the agent runs: answered or dismissed by
// somebody, or over without that. What is not open here has ended before.
func (w *Watch) End(session, id string, o convert.Outcome, by string) {
	w.mu.Lock()
	at := name{session, id}
	it := w.open[at]
	delete(w.open, at)
	w.mu.Unlock()
	if it != nil {
		w.end(it, o, by)
	}
}

// EndAll takes back all that is so: it can be answered no more.
func (w *Watch) EndAll(why string, is func(desk.Item) bool) {
	var ended []*asking
	w.mu.Lock()
	for at, it := range w.open {
		if is(it.Item) {
			ended = append(ended, it)
			delete(w.open, at)
		}
	}
	w.mu.Unlock()
	for _, it := range ended {
		w.end(it, Over(why), "")
	}
}

// EndTurn tells the hub that the agent is through with a turn, or why it failed.
func (w *Watch) EndTurn(t desk.Turn) { w.desk.EndTurn(t) }

// Over is how something ends that nobody has answered. The reason is for people.
func Over(why string) convert.Outcome { return convert.Outcome{Status: convert.Failed, Reason: why} }

func (w *Watch) end(it *asking, o convert.Outcome, by string) {
	if _, first := it.ticket.Settle(o, by); !first {
		// The hub was first at the desk, and not at the agent.
		w.link.Received(it.ticket.Ref(), errTooLate)
	}
}

var errTooLate = errors.New("it was answered, or taken back, in the terminal before")

// changed gives the agent what stands at the desk. What has ended where the agent runs
// is not open here any more.
func (w *Watch) changed(e desk.Entry) {
	if e.State != desk.Settled {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	at := name{e.Call.Session, e.Call.ID}
	it := w.open[at]
	if it == nil {
		return
	}
	delete(w.open, at)
	if e.By == "" || w.closed { // nobody said anything
		return
	}
	w.answers.Go(func() { w.answer(it, e) })
}

func (w *Watch) answer(it *asking, e desk.Entry) {
	err := it.Answer(w.ctx, e.Outcome)
	switch {
	case errors.As(err, new(Unsure)): // it was told, also if nobody watches any more
	case w.ctx.Err() != nil && errors.Is(err, context.Canceled):
		err = errors.New("the agent has ended before it was told")
	}
	w.link.Received(desk.Ref{Session: e.Call.Session, ID: e.Call.ID, Revision: e.Revision}, err)
}
