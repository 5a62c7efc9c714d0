// Package watch puts what an agent asks in its own terminal to a hub as well. The
// dialog in the terminal stays: whoever answers first has answered.
//
//	w := watch.Start(hublink.Options{URL: hub, Token: token})
//	defer w.Close()
//	w.Ask(watch.Dialog{Item: item, Answer: tell}) // the agent shows a dialog
//	w.End(session, id, outcome, watch.Terminal)   // it was answered there
//
// Whoever watches an agent tells what is open there and what has ended; Answer gives
// the agent what a person said at the hub, and says whether the agent took it. An
// answer that came too late is told as such, and is never one.
//
// # Claude Code
//
// Its hooks run beside its dialog. [RunClaude] is what it starts for an event: package hook says
// what that asks, and this one carries it to the hub, and waits.
//
// # Installing
//
// An [Installer] puts hooks and plugins where agents look for them, makes a device of the hub
// for them, and takes both away again. [ExamineClaude] and [ExamineAgents] say whether they work.
//
// # In plain terminals
//
// With a hub, on 16 November 2026 in tmux: answered at the hub first and in the terminal
// first, withdrawn both ways.
//
//	ACP_BRIDGE_REAL_AGENTS=$PWD/.cache/agents ACP_BRIDGE_REAL_AGENTS_LONGER=1 go -C cmd/tools test ./real/... -timeout 30m
//
//	agent      version   how                               what
//	OpenCode   1.18.33   acp-bridge hook install opencode  questions, permissions, also of sub-agents
//	Kilo       7.7.7     acp-bridge hook install kilo      the same
//	Codex      0.166.0   acp-bridge watch codex            questions, approvals, tools and forms of MCP servers
//	OpenCode   2.0.0     acp-bridge watch opencode         questions, forms, permissions, also of sub-agents
//
// The hooks of these run before their dialog. While one waits, the terminal shows nothing, so
// they ask at the hub only while somebody is away, on 17 November 2026:
//
//	Qwen Code    0.24.4   acp-bridge hook install qwen     questions, permissions
//	Copilot CLI  1.0.102  acp-bridge hook install copilot  the same
//	Gemini CLI   0.61.0   acp-bridge hook install gemini   questions; a hook cannot allow anything
//
// Their models get an answer as a refusal with the answer in words. Esc in the terminal takes
// back what Qwen and Gemini ask. Copilot says only later that it was stopped: an answer that
// nobody took is told as that.
//
// Kimi and Grok can only notify; their dialog stays in the terminal. Whoever is notified by the
// hub learns that they wait:
//
//	Kimi Code    2.1.0    acp-bridge hook install kimi     a notice
//	Grok Build   1.0.41   acp-bridge hook install grok     a notice
//
// Codex does not say whose answer to a question or a form it took, nor who granted more
// permissions: the card says that it is not known. It takes no words with a permission.
// acp-bridge doctor --agents covers the rest.
//
// # Hooks
//
// A hook that runs before the dialog asks at the hub while somebody has said to be away, and
// lets go when they are back:
//
//	h, err := watch.ReadHook("qwen", event) // ErrNothing: not for us
//	h.Hold(ctx, w, away, os.Stdout)         // prints what the person said
//
// Run on 17 November 2026 in tmux, with the test's name:
//
//	agent    version  permissions       questions  test
//	Qwen     0.24.4   allow, reject     yes        TestRealQwen
//	Copilot  1.0.102  allow, reject     yes        TestRealCopilot
//	Gemini   0.61.0   in the terminal   yes        TestRealGemini
package watch

import (
	"context"
	"errors"
	"sync"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// Terminal is who has answered where the agent runs.
const Terminal = "the terminal"

// Dialog is what an agent shows in its terminal.
type Dialog struct {
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

// Unsure tells the hub why it is not known yet whether the agent takes the answer to an
// item of that name.
func (w *Watch) Unsure(name string, why Unsure) { w.link.Received(name, why) }

// Watch is what agents ask in their terminals. Its methods may be called from any
// goroutine.
type Watch struct {
	desk    desk.Desk
	link    *hublink.Link
	ctx     context.Context
	cancel  context.CancelFunc
	unwatch func()
	answers sync.WaitGroup

	shared proc.Shared // has what follows
	open   map[called]*dialog
	closed bool
}

// called is what an agent calls what it asks.
type called struct{ session, id string }

type dialog struct {
	Dialog
	ticket *desk.Ticket
}

// Start begins to put what will be asked to a hub.
func Start(o hublink.Options) *Watch {
	w := &Watch{open: map[called]*dialog{}}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.unwatch = w.desk.Watch(w.changed)
	w.link = hublink.Start(&w.desk, o)
	return w
}

// Close takes back what is open: nobody watches the agent any more.
func (w *Watch) Close() {
	w.EndAll("the agent has ended, or nobody watches its terminal any more", func(desk.Item) bool { return true })
	w.shared.Step(func() { w.closed = true })
	w.cancel()
	w.answers.Wait() // those on their way are told what became of them
	w.unwatch()
	w.link.Close()
}

// Ask puts a dialog to the hub. One that is open already stays as it is. Ask, End and
// EndAll are called by one goroutine.
func (w *Watch) Ask(d Dialog) {
	at := called{d.Item.Call.Session, d.Item.Call.ID}
	it := &dialog{Dialog: d}
	known := false
	w.shared.Step(func() {
		if known = w.closed || w.open[at] != nil; !known {
			it.ticket, w.open[at] = w.desk.Place(w.ctx, d.Item), it
		}
	})
	if !known {
		it.ticket.Asking(0, "terminal") // it stands there: the end of another does not end it
	}
}

// End says how something has ended where the agent runs: answered or dismissed by
// somebody, or over without that. What is not open here has ended before.
func (w *Watch) End(session, id string, o convert.Outcome, by string) {
	var it *dialog
	w.shared.Step(func() { it = w.take(called{session, id}) })
	if it != nil {
		w.end(it, o, by)
	}
}

// EndAll takes back all that is so: it can be answered no more.
func (w *Watch) EndAll(why string, is func(desk.Item) bool) {
	var ended []*dialog
	w.shared.Step(func() {
		for at, it := range w.open {
			if is(it.Item) {
				ended = append(ended, w.take(at))
			}
		}
	})
	for _, it := range ended {
		w.end(it, Over(why), "")
	}
}

// EndTurn tells the hub that the agent is through with a turn, or why it failed.
func (w *Watch) EndTurn(t desk.Turn) { w.desk.EndTurn(t) }

// Over is how something ends that nobody has answered. The reason is for people.
func Over(why string) convert.Outcome { return convert.Outcome{Status: convert.Failed, Reason: why} }

func (w *Watch) end(it *dialog, o convert.Outcome, by string) {
	if _, first := it.ticket.Settle(o, by); !first {
		// The hub was first at the desk, and not at the agent.
		w.link.Received(it.ticket.Item().Name, errTooLate)
	}
}

// ErrLate is why an agent takes no answer: its terminal had one.
var ErrLate = errors.New("it was answered in the terminal before")

var errTooLate = errors.New("it was answered, or taken back, in the terminal before")

// changed gives the agent what stands at the desk. What has ended where the agent runs
// is not open here any more: another may be, which the agent calls the same.
func (w *Watch) changed(e desk.Entry) {
	at := called{e.Call.Session, e.Call.ID}
	w.shared.Step(func() {
		if it := w.open[at]; e.State != desk.Settled || it == nil || it.ticket.Item().Name != e.Name {
			return
		}
		if it := w.take(at); e.Outcome.Status.ByPerson() && !w.closed {
			w.answers.Go(func() { w.answer(it, e) })
		}
	})
}

// take takes a dialog from what is open; nil is none. It is called in a step.
func (w *Watch) take(at called) *dialog {
	it := w.open[at]
	delete(w.open, at)
	return it
}

func (w *Watch) answer(it *dialog, e desk.Entry) {
	err := it.Answer(w.ctx, e.Outcome)
	switch {
	case errors.As(err, new(Unsure)): // it was told, also if nobody watches any more
	case w.ctx.Err() != nil && errors.Is(err, context.Canceled):
		err = errors.New("the agent has ended before it was told")
	}
	w.link.Received(e.Name, err)
}
