package editor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/internal/life"
	"github.com/acp-bridge/acp-bridge/internal/seen"
	"github.com/acp-bridge/acp-bridge/internal/session"
)

// asking is a request of the agent that the editor's user answers, and the editor as package
// adapter sees it for that: requests go over the connection, updates through the session's
// outlet.
type asking struct {
	*session.Asker
	front *front
	s     *Session // nil for what is asked of no session
	name  string   // at the desk
	again bool     // that of [desk.Item]
	// call is the id of a call that is shown under another one.
	call, shownAs string
}

// answer waits for a request's outcome and returns what tells the agent. The
// session hears of the outcome before, see [asking.Settled].
type answer func() (reply func())

// ask takes a request of the agent. It takes its place behind earlier ones, and
// is asked in a goroutine of its own, so that the agent is read on meanwhile.
// Fault tells the agent of a panic.
func (s *Session) ask(id string, kind session.Kind, apart bool, within string, post func(*asking) answer, fault func()) *asking {
	a := &asking{front: s.front, s: s}
	var wait answer
	s.happens(func() session.Event {
		a.Asker = s.state.NewAsker(s.ctx, cmp.Or(within, s.id))
		a.Post = func() { wait = post(a) }
		s.askedBy[id] = a.Key
		return session.RequestCame{Key: a.Key, Kind: kind, Apart: apart}
	})
	go a.run(id, wait, fault)
	return a
}

func (a *asking) run(id string, wait answer, fault func()) {
	defer close(a.Over)
	reply := a.guarded(wait, fault)
	a.s.apply(session.RequestSettled{Key: a.Key}) // nothing new, but for errands and after a panic
	if errors.Is(context.Cause(a.Ctx), session.ErrNotAsked) {
		a.s.awaitEnding()
	}
	if gone := a.Gone(); gone == nil {
		reply()
	} else {
		a.receipt(gone)
	}
	a.s.happens(func() session.Event {
		if a.s.askedBy[id] == a.Key {
			delete(a.s.askedBy, id)
		}
		return a.Replied()
	})
}

// guarded waits for the outcome; a panic is the end of this request alone.
func (a *asking) guarded(wait answer, fault func()) (reply func()) {
	defer func() {
		if v := recover(); v != nil {
			a.s.front.log.Error("a session's code panicked", "session", a.s.id, "panic", v, "stack", string(debug.Stack()))
			reply = fault
		}
	}()
	return wait()
}

// receipt says what became of what was said to the request, see [desk.Desk.Receipt].
func (a *asking) receipt(err error) {
	if a.name != "" {
		a.front.opts.Desk.Receipt(a.name, err)
	}
}

// AskQuestion asks a question call. The id is that of the agent's request, for
// [Session.Withdraw]; apart says that a sub-agent asks, which may work on after
// the turn. Reply tells the agent, once, unless it withdraws the request, and returns
// whether the agent has it; it must not end the turn, which waits for it. If the
// agent gets it later, the caller calls used.
func (s *Session) AskQuestion(id string, apart bool, c convert.Call, reply func(convert.Outcome) (sent bool)) (used func()) {
	return s.askQuestion(id, "", apart, c, reply)
}

const ourClient = "acp-bridge-chat"

// AskAgain is AskQuestion for the call that ends the session's history: what was said to it
// since its process ended counts. The editor may still show the old one, so this one gets
// another id. Our own client does not, and its hub knows the call by its id.
func (s *Session) AskAgain(id, shownAs string, c convert.Call, reply func(convert.Outcome) (sent bool)) (used func()) {
	return s.askQuestion(id, shownAs, false, c, reply)
}

func (s *Session) askQuestion(id, shownAs string, apart bool, c convert.Call, reply func(convert.Outcome) (sent bool)) (used func()) {
	c.Session = s.id
	a := s.ask(id, session.Question, apart, c.SubAgent.Session, func(a *asking) answer {
		a.again, a.call = shownAs != "", c.ID
		if m := s.front.client.Load(); m == nil || m.ClientInfo == nil || m.ClientInfo.Name != ourClient {
			a.shownAs = shownAs
		}
		wait := a.asker().Post(a.Ctx, c)
		return func() func() {
			o, _ := wait()
			if o.Status == convert.Cancelled && errors.Is(context.Cause(a.Ctx), session.ErrPartStopped) {
				o = adapter.Withdrawn(a.Ctx)
			}
			return func() {
				if reply(o) {
					a.receipt(nil)
				}
			}
		}
	}, func() { reply(faulty) })
	return func() { a.receipt(nil) }
}

var faulty = convert.Outcome{Status: convert.Failed, Reason: "The user could not be asked: there is a fault in acp-bridge"}

// AskForm asks for the fields of a form. Reply gets the reply for whoever sent
// the form. It is [ask.CancelForm] unless the user accepted or declined.
func (s *Session) AskForm(id string, f ask.FormCall, reply func(json.RawMessage, convert.Outcome) (sent bool)) {
	f.Session = s.id
	s.ask(id, session.Form, false, "", func(a *asking) answer {
		wait := a.asker().PostForm(a.Ctx, f)
		return func() func() {
			raw, o := wait()
			return func() {
				if reply(raw, o) {
					a.receipt(nil)
				}
			}
		}
	}, func() { reply(json.RawMessage(ask.CancelForm), faulty) })
}

// AskPermission asks whether the agent may use a tool, for who if that is a sub-agent.
// Reply gets the editor's response, or an error, which is [ErrTakenBack] if the request
// was taken back: then no permission was given, whatever the editor said.
func (s *Session) AskPermission(id string, apart bool, who convert.SubAgent, r acp.RequestPermissionRequest, reply func(acp.RequestPermissionResponse, error) (sent bool)) {
	r.SessionId = acp.SessionId(s.id)
	s.ask(id, session.Permission, apart, who.Session, func(a *asking) answer {
		wait := a.asker().PostPermission(a.Ctx, who, r)
		return func() func() {
			response, err := wait()
			return func() {
				if a.Ctx.Err() != nil { // taken back at the same moment
					err = fmt.Errorf("%w: %w", ErrTakenBack, context.Cause(a.Ctx))
					reply(acp.RequestPermissionResponse{}, err)
					a.receipt(err)
				} else if reply(response, err) {
					a.receipt(nil)
				}
			}
		}
	}, func() { reply(acp.RequestPermissionResponse{}, faulty.Err()) })
}

// Errand does something for the agent that is not asked of the user and ends with
// the turn. What it returns tells the agent; fault does after a panic.
func (s *Session) Errand(id string, do func(context.Context) (reply func()), fault func()) {
	s.ask(id, session.Errand, false, "", func(a *asking) answer {
		return func() func() { return do(a.Ctx) }
	}, fault)
}

// Withdraw takes back a request because the agent no longer waits for it.
func (s *Session) Withdraw(id string) {
	s.happens(func() session.Event {
		if key, ok := s.askedBy[id]; ok {
			return session.RequestWithdrawn{Key: key}
		}
		return nil
	})
}

// park shows a question in the conversation, and ends the running prompt. It is held by
// the showing's end, see [session.Parking].
func (a *asking) park(ctx context.Context, toolCall, text string) (view context.Context, hide func()) {
	a.s.apply(session.RequestParks{Key: a.Key})
	if !a.Admitted() {
		return nil, nil
	}
	// It has its place among the updates, and goes out when the session knows: what
	// came before that is no answer, what comes behind it may be one.
	var ended <-chan struct{} // the response to the last prompt is on its way
	a.s.hold("\n\n"+text, func() session.Event {
		ended = a.s.last
		a.s.waits.Store(toolCall)
		return session.RequestParked{Key: a.Key, ToolCall: toolCall}
	})
	parked := a.Admitted()
	a.s.Flush()
	if !parked {
		a.s.release()
		return nil, nil
	}
	stop := a.watch(ctx, ended)
	return ctx, func() { stop(); a.s.release() }
}

// endTime is how long the end of the prompt before a question may take to be on
// its way.
const endTime = 50 * time.Millisecond

// watch looks for evidence that the editor has reached the question. The editor is
// asked behind the end of the prompt, too: one that holds prompts back sends them then.
func (a *asking) watch(ctx context.Context, ended <-chan struct{}) (stop func()) {
	if a.Showing == nil {
		return func() {}
	}
	ctx, stop = context.WithCancel(ctx)
	look, c := a.Showing.Look(), a.front.connection()
	c.Watch(ctx, look)
	if ended == nil { // there was none
		c.AskBehind(look)
		return stop
	}
	go func() {
		select {
		case <-ended:
		case <-time.After(endTime):
		case <-ctx.Done():
			return
		}
		c.AskBehind(look)
	}()
	return stop
}

// Posts is for package adapter.
func (a *asking) Posts(it *desk.Item) {
	a.name = life.Mint()
	it.Name, it.Again = a.name, a.again
}

// asker asks the editor's user for this request.
func (a *asking) asker() *adapter.Adapter { return a.front.ask.Load().With(a) }

var _ interface {
	adapter.Client
	adapter.Updater
	adapter.Queuer
	adapter.Former
	adapter.Talker
	adapter.Closer
	seen.Witness
	adapter.Settler
} = &asking{}

// Settled implements [adapter.Settler]: the session knows of a no before anything
// else is shown.
func (a *asking) Settled(o convert.Outcome) {
	a.s.apply(session.RequestSettled{Key: a.Key, Dismissed: o.Status == convert.Cancelled})
}

// show asks the session whether the request may be shown.
func (a *asking) show(ctx context.Context) error {
	if !a.attend(ctx, session.RequestShown{Key: a.Key}) || !a.Admitted() {
		return session.Withdrawn(ctx)
	}
	return nil
}

// attend brings an event once the editor shows what it is sent, and reports whether it
// does so before ctx ends.
func (a *asking) attend(ctx context.Context, ev session.Event) bool {
	for {
		var comes <-chan struct{}
		a.s.happens(func() session.Event {
			if comes = a.s.state.Attended(); comes != nil {
				return nil
			}
			return ev
		})
		if comes == nil {
			return true
		}
		select {
		case <-comes:
		case <-ctx.Done():
			return false
		}
	}
}

// Attended waits until the editor shows what it is sent.
func (a *asking) Attended(ctx context.Context) { a.attend(ctx, nil) }

// tool is the id under which the editor knows a tool call.
func (a *asking) tool(id string) string {
	if rest, ok := strings.CutPrefix(id, a.call); ok && a.shownAs != "" {
		return a.shownAs + rest
	}
	return id
}

func (a *asking) RequestPermission(ctx context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	if err := a.show(ctx); err != nil {
		return acp.RequestPermissionResponse{}, err
	}
	r.SessionId = acp.SessionId(a.Shown)
	r.ToolCall.ToolCallId = acp.ToolCallId(a.tool(string(r.ToolCall.ToolCallId)))
	return a.front.connection().RequestPermission(ctx, r)
}

func (a *asking) CreateElicitation(ctx context.Context, r any) (json.RawMessage, error) {
	if err := a.show(ctx); err != nil {
		return nil, err
	}
	if form, ok := r.(ask.FormRequest); ok {
		form.SessionID, form.ToolCallID = a.Shown, a.tool(form.ToolCallID)
		r = form
	}
	return a.front.connection().CreateElicitation(ctx, r)
}

func (a *asking) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	return a.update(n, true)
}

func (a *asking) QueueUpdate(_ context.Context, n acp.SessionNotification) error {
	return a.update(n, false)
}

func (a *asking) update(n acp.SessionNotification, urgent bool) error {
	n.SessionId = acp.SessionId(a.Shown)
	if t := n.Update.ToolCall; t != nil {
		t.ToolCallId = acp.ToolCallId(a.tool(string(t.ToolCallId)))
	}
	if t := n.Update.ToolCallUpdate; t != nil {
		t.ToolCallId = acp.ToolCallId(a.tool(string(t.ToolCallId)))
	}
	if m := n.Update.AgentMessageChunk; m != nil && m.MessageId == nil {
		m.MessageId = acp.Ptr(life.UUID())
	}
	a.s.put(a.s.encode(n), urgent)
	return nil
}

// AskInConversation waits for the words of the prompt behind the question.
func (a *asking) AskInConversation(ctx context.Context, m adapter.Message) (string, error) {
	return a.Converse(ctx, m.Text, m.Means, session.Parking{
		Show: func(text string) (context.Context, func()) { return a.park(ctx, a.tool(m.ToolCallID), text) },
		Tell: func(remark string) { a.s.Text(MessageChunk, remark) },
	})
}

func (a *asking) Done() <-chan struct{} { return a.front.connection().Done() }
