// Package adapter asks an agent's questions over an ACP connection.
//
//	a := adapter.New(conn, nil)               // conn has RequestPermission
//	call, err := convert.Parse(toolInput, convert.Limits{})
//	call.Session, call.ID = sessionID, toolUseID
//	outcome, err := a.Ask(ctx, call)          // blocks until the user answered
//	result := dialect.ClaudeResult(call, outcome)
//
// Questions of one session are asked one after the other, in the order of the
// calls to [Adapter.Ask]; sessions do not wait for each other. A question
// waits until it is answered, cancelled or cut off: there is no timeout.
//
// An [Adapter] is a [Resolver]. Others come with the package: [Static],
// [Func] and [Lines]; [NewTool] makes a tool of any of them that a Go agent
// can register.
package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
)

// Resolver gets the answers to a call. It returns nil as the error exactly if
// the outcome is [convert.Answered]; otherwise the error matches the outcome,
// as [convert.Outcome.Err] does.
type Resolver interface {
	Ask(ctx context.Context, c convert.Call) (convert.Outcome, error)
}

// Client is what the adapter needs of a connection. RequestPermission blocks
// until the client replied; it must return when ctx ends. Its error wraps
// [io.ErrClosedPipe] or [convert.ErrDisconnected] when the client is gone.
type Client interface {
	RequestPermission(ctx context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error)
}

// What else a [Client] may be able to do.
type (
	// Updater shows the progress of a question as a tool call.
	Updater interface {
		SessionUpdate(ctx context.Context, n acp.SessionNotification) error
	}
	// SoonUpdater is an Updater that may keep an update until the next message,
	// to send both in one go.
	SoonUpdater interface {
		SessionUpdateSoon(ctx context.Context, n acp.SessionNotification) error
	}
	// Former shows a form and returns the reply as it came; request is a
	// [ask.FormRequest]. It is used only
	// if [Options].Forms, or URLs for an address, says that the client has it.
	Former interface {
		CreateElicitation(ctx context.Context, request any) (json.RawMessage, error)
	}
	// Talker puts a question into the conversation and waits for the user's
	// next message, which it returns as text.
	Talker interface {
		AskInConversation(ctx context.Context, m Message) (string, error)
	}
	// Closer says when the connection is gone.
	Closer interface {
		Done() <-chan struct{}
	}
)

// Message is a question as text in a conversation.
type Message struct {
	Session    string
	ToolCallID string
	Text       string
}

// Options tell the adapter what it cannot see of the client. The zero value
// is a client that shows permission requests to a person.
type Options struct {
	// Forms is set for a client that advertises elicitation forms.
	Forms bool
	// URLs is set for a client that advertises to send its user to addresses.
	URLs bool
	// First is the rung to begin with; lower ones still serve. The zero value
	// begins with the best the client has.
	First Rung
	// Unseen is set for a client that does not show the options of a permission
	// request: that rung is left out, unless First names it.
	Unseen bool
	// Aware is set for a client that declares to know question requests: it
	// answers a multi-select question in one go.
	Aware bool
	// Title is the style of titles.
	Title ask.TitleStyle
	// Guard distrusts first replies that come faster than a person can read;
	// see [GuardTime].
	Guard bool
	// Now is the guard's clock; nil is [time.Now].
	Now func() time.Time
	// OnChange is told of every change of an open call, in order for each
	// call. It must not block and must not call the adapter.
	OnChange func(Change)
	// Logger gets what goes wrong with a client; nil discards it.
	Logger *slog.Logger
}

// GuardTime is how fast a reply must come to be taken for an automatic one by
// the guard. Automatic replies were seen within 25 ms, keypresses of a script
// after 700 ms.
const GuardTime = 250 * time.Millisecond

// Adapter asks questions over one connection. Its methods may be called from
// any goroutine.
type Adapter struct {
	client Client
	opts   Options
	log    *slog.Logger

	mu       sync.Mutex
	sessions map[string]*session
	open     map[key]*entry
	serial   int
}

type key struct{ session, id string }

// New makes an adapter for a connection. A nil opts is the zero Options.
func New(client Client, opts *Options) *Adapter {
	a := &Adapter{client: client, sessions: map[string]*session{}, open: map[key]*entry{}}
	if opts != nil {
		a.opts = *opts
	}
	a.log = a.opts.Logger
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	if a.opts.Now == nil {
		a.opts.Now = time.Now
	}
	return a
}

// structural are limits that hold for every dialect: without them a reply
// could not be told apart.
var structural = convert.Limits{
	MaxQuestions: -1, MinOptions: -1, MaxOptions: -1, FreeText: true, RepeatQuestions: true,
}

// Ask asks all questions of the call and returns how it ended. It blocks until
// then. When ctx ends, the open question is withdrawn. The outcome is Cancelled
// if ctx was cancelled without a cause or with [convert.ErrCancelled],
// Disconnected with [convert.ErrDisconnected], and Failed with any other cause,
// a deadline included: those are not the user's doing.
//
// A call without an id gets one. An id that is open already is a failure.
func (a *Adapter) Ask(ctx context.Context, c convert.Call) (convert.Outcome, error) {
	return a.put(ctx, &entry{call: c})
}

// AskForm asks what an MCP server wants to know, in the session's queue and on
// the same rungs as [Adapter.Ask]. It returns the reply for the server, an
// accept only with values that the user gave and that fit the form, and how it
// came about. Unlike a question, a form that is dismissed withdraws no others.
func (a *Adapter) AskForm(ctx context.Context, f ask.FormCall) (json.RawMessage, convert.Outcome) {
	e := &entry{call: f.Call, form: &f}
	o, _ := a.put(ctx, e)
	if o.Status == convert.Answered && e.reply != nil {
		return e.reply, o
	}
	reply, err := f.Reply(o)
	if err != nil { // the ladder checks answers before
		return ask.CancelForm, convert.Outcome{Status: convert.Failed, Reason: err.Error()}
	}
	return reply, o
}

func (a *Adapter) put(ctx context.Context, e *entry) (convert.Outcome, error) {
	if err := e.call.Validate(structural); err != nil {
		return failed(err.Error())
	}
	if err := a.enter(ctx, e); err != nil {
		return failed(err.Error())
	}
	s := a.session(e.call.Session)
	defer a.forget(s)
	if err := s.turn.wait(e.ctx); err != nil {
		return a.leave(e, a.ended(e.ctx, err))
	}
	// The call has its outcome, and siblings are withdrawn, before the next one
	// has its turn.
	defer s.turn.done()
	return a.leave(e, a.ask(e, s))
}

func failed(reason string) (convert.Outcome, error) {
	o := convert.Outcome{Status: convert.Failed, Reason: reason}
	return o, o.Err()
}

// RequestPermission asks for an ordinary permission in the session's queue: it
// waits for open questions, and they wait for it.
func (a *Adapter) RequestPermission(ctx context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	s := a.session(string(r.SessionId))
	defer a.forget(s)
	if err := s.turn.wait(ctx); err != nil {
		return acp.RequestPermissionResponse{}, err
	}
	defer s.turn.done()
	return a.client.RequestPermission(ctx, r)
}

// ended turns the error of a request that got no reply into an outcome; the
// zero Outcome means that the client did reply, with an error.
func (a *Adapter) ended(ctx context.Context, err error) convert.Outcome {
	if ctx.Err() != nil {
		return withdrawn(context.Cause(ctx))
	}
	if errors.Is(err, convert.ErrCancelled) {
		return convert.Outcome{Status: convert.Cancelled, Reason: convert.CancelMessage}
	}
	if disconnected(err) || a.gone() {
		return convert.Outcome{Status: convert.Disconnected, Reason: convert.GoneMessage}
	}
	return convert.Outcome{}
}

// withdrawn is how a call ends whose context ended. The cause says who did it:
// a plain cancel stands for the user.
func withdrawn(cause error) convert.Outcome {
	switch {
	case disconnected(cause):
		return convert.Outcome{Status: convert.Disconnected, Reason: convert.GoneMessage}
	case errors.Is(cause, convert.ErrCancelled):
		return convert.Outcome{Status: convert.Cancelled, Reason: convert.CancelMessage}
	case cause == context.Canceled:
		return convert.Outcome{Status: convert.Cancelled, Reason: "The question was withdrawn"}
	}
	return convert.Outcome{Status: convert.Failed, Reason: "The question was withdrawn: " + cause.Error()}
}

// disconnected reports whether an error says that the client is gone.
func disconnected(err error) bool {
	return errors.Is(err, convert.ErrDisconnected) || errors.Is(err, io.ErrClosedPipe)
}

func (a *Adapter) gone() bool {
	if c, ok := a.client.(Closer); ok {
		select {
		case <-c.Done():
			return true
		default:
		}
	}
	return false
}

// update sends a tool-call update where the client can take one. It is shown
// also when the question's own context has ended, because the tool call has
// to end too.
func (a *Adapter) update(e *entry, u acp.SessionUpdate) {
	if up, ok := a.client.(Updater); ok {
		a.sendUpdate(e, u, up.SessionUpdate)
	}
}

// updateSoon is update with another message sure to come behind.
func (a *Adapter) updateSoon(e *entry, u acp.SessionUpdate) {
	if up, ok := a.client.(SoonUpdater); ok {
		a.sendUpdate(e, u, up.SessionUpdateSoon)
	} else {
		a.update(e, u)
	}
}

func (a *Adapter) sendUpdate(e *entry, u acp.SessionUpdate, send func(context.Context, acp.SessionNotification) error) {
	ctx := context.WithoutCancel(e.ctx)
	if err := send(ctx, acp.SessionNotification{SessionId: acp.SessionId(e.call.Session), Update: u}); err != nil {
		a.log.Debug("update of a question was not sent", "session", e.call.Session, "call", e.call.ID, "err", err)
	}
}

// end sends the update that ends a tool call, which also says on which rung
// the question was asked last.
func (a *Adapter) end(e *entry, u acp.SessionUpdate) {
	a.mu.Lock()
	rung := e.rung
	a.mu.Unlock()
	u.ToolCallUpdate.Meta = map[string]any{"acp-bridge": map[string]any{"rung": rung.String()}}
	a.update(e, u)
}

// enter registers a call as open.
func (a *Adapter) enter(ctx context.Context, e *entry) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e.call.ID == "" {
		a.serial++
		e.call.ID = "question_" + strconv.Itoa(a.serial)
		if e.form != nil {
			e.form.ID = e.call.ID
		}
	}
	k := key{e.call.Session, e.call.ID}
	if a.open[k] != nil {
		return fmt.Errorf("question call %q is open already", e.call.ID)
	}
	a.serial++
	e.order, e.state = a.serial, Queued
	e.ctx, e.cancel = context.WithCancelCause(ctx)
	a.open[k] = e
	a.changed(e)
	return nil
}

// leave takes a call off the list and settles how it ended: an answer given by
// code wins over what came from the client at the same time.
func (a *Adapter) leave(e *entry, o convert.Outcome) (convert.Outcome, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.open, key{e.call.Session, e.call.ID})
	e.cancel(nil)
	if e.forced != nil {
		o, e.reply = *e.forced, nil
	}
	e.state, e.outcome = Ended, o
	if o.Status == convert.Cancelled && e.form == nil {
		a.withdrawSiblings(e)
	}
	a.changed(e)
	return o, o.Err()
}
