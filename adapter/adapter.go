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
// waits until it is answered, cancelled or cut off: there is no timeout. What is
// open can be seen, answered and cancelled from elsewhere: see [Options].Desk.
//
// An [Adapter] is a [Resolver]. Others are [Static] and [Func], and that of package
// terminal; [NewTool] makes a tool of any of them that a Go agent can register.
package adapter

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
	"github.com/acp-bridge/acp-bridge/internal/life"
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
	// Queuer is an Updater that may keep an update until the next message, to
	// send both in one go.
	Queuer interface {
		QueueUpdate(ctx context.Context, n acp.SessionNotification) error
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
	// Settler hears how a request ended, before the next one of its session has its turn.
	// It must not block. See [Adapter.With] for which request it was.
	Settler interface{ Settled(o convert.Outcome) }
	// A poster says of an item that is about to be posted what its asker knows: its name,
	// and whether it is asked again.
	poster interface{ Posts(it *desk.Item) }
	// declarer says what the client declared of itself; ok is false while that
	// is not known. It is used if no [Options] were given.
	declarer interface {
		ClientCapabilities() (caps acp.ClientCapabilities, ok bool)
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
	// Means reports whether a text means something to the question other than
	// the user's own words: an option, a number, `cancel`. What an editor
	// attaches to such a text is no part of the answer.
	Means func(text string) bool
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
	// Appends is set for a client that adds the content of each request to what it
	// shows of the tool call already.
	Appends bool
	// Guard distrusts first replies that come faster than a person can read.
	Guard bool
	// GuardPrompts does so for questions in the conversation: a prompt that was
	// sent before the question can have been read does not answer it.
	GuardPrompts bool
	// Now is the guard's clock; nil is [time.Now]. With another one all that counts
	// is when something was asked.
	Now func() time.Time
	// Desk is where everything is posted that is asked, ordinary permissions
	// too; nil is one of the adapter's own.
	Desk *desk.Desk
	// Describe says of an item that is about to be posted, for people at the desk,
	// who asks, where it works, and what was said before. It must not block.
	Describe func(it *desk.Item)
	// Logger gets what goes wrong with a client; nil discards it.
	Logger *slog.Logger
}

// TitlesOnly reports whether the client shows no more of a permission request than
// its tool call's title.
func (o *Options) TitlesOnly() bool { return o.Unseen || o.Title == ask.TitleHeaderAndQuestion }

// Adapter asks questions over one connection. Its methods may be called from
// any goroutine.
type Adapter struct {
	client Client
	opts   Options
	log    *slog.Logger
	desk   *desk.Desk
	// declared is nil if options say what the client can do.
	declared declarer
	// broken has what did not work, each as a rungOf.
	broken *sync.Map
}

// rungOf is a rung on which the client gave no valid reply in a session.
type rungOf struct {
	session string
	rung    Rung
}

// New makes an adapter for a connection. With nil opts it goes by what the client
// declared, if it has a method ClientCapabilities; else they are the zero Options.
func New(client Client, opts *Options) *Adapter {
	a := &Adapter{client: client, broken: new(sync.Map)}
	if opts != nil {
		a.opts = *opts
	} else {
		a.declared, _ = client.(declarer)
	}
	a.log = cmp.Or(a.opts.Logger, slog.New(slog.DiscardHandler))
	a.desk = cmp.Or(a.opts.Desk, new(desk.Desk))
	return a
}

// With is the adapter with another client in the place of its own, the same one
// as one request sees it: what is asked with it knows what it is asked for.
func (a *Adapter) With(client Client) *Adapter {
	one := *a
	one.client = client
	return &one
}

// Desk is where everything is that the adapter asks and that is open: list,
// answer, cancel and watch it there.
func (a *Adapter) Desk() *desk.Desk { return a.desk }

// ended turns the error of a request that got no reply into an outcome; the
// zero Outcome means that the client did reply, with an error.
func (a *Adapter) ended(ctx context.Context, err error) convert.Outcome {
	if ctx.Err() != nil {
		return Withdrawn(ctx)
	}
	if errors.Is(err, convert.ErrCancelled) {
		return convert.Outcome{Status: convert.Cancelled, Reason: convert.CancelMessage}
	}
	if disconnected(err) || a.gone() {
		return convert.Outcome{Status: convert.Disconnected, Reason: convert.GoneMessage}
	}
	return convert.Outcome{}
}

// Withdrawn is how a call ends whose context has ended. The cause says who did
// it, see [life.Outcome].
func Withdrawn(ctx context.Context) convert.Outcome {
	cause := context.Cause(ctx)
	gone, ok := life.Outcome(cause)
	switch {
	case cause == nil:
		return convert.Outcome{}
	case disconnected(cause):
		return convert.Outcome{Status: convert.Disconnected, Reason: convert.GoneMessage}
	case ok:
		return gone
	default:
		return convert.Outcome{Status: convert.Failed, Reason: "The question was withdrawn: " + Words(cause)}
	}
}

// Words is an error in words for people and models: of an error that came over
// the wire its message, and not its JSON.
func Words(err error) string {
	text := err.Error()
	if re, ok := errors.AsType[*acp.RequestError](err); ok && re != nil {
		text = strings.ReplaceAll(text, re.Error(), re.Message)
	}
	return text
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

// queueUpdate is update with another message sure to come behind.
func (a *Adapter) queueUpdate(e *entry, u acp.SessionUpdate) {
	if up, ok := a.client.(Queuer); ok {
		a.sendUpdate(e, u, up.QueueUpdate)
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
	u.ToolCallUpdate.Meta = map[string]any{"acp-bridge": map[string]any{"rung": e.rung.String()}}
	if parent := e.call.SubAgent.Parent; parent != "" {
		u.ToolCallUpdate.Meta["claudeCode"] = map[string]any{"parentToolUseId": parent}
	}
	a.update(e, u)
}

// EndSession drops what is remembered of a session. Its open questions are not
// touched: end the context they were asked with.
func (a *Adapter) EndSession(id string) {
	for r := Form; r < Elsewhere; r++ {
		a.broken.Delete(rungOf{id, r})
	}
}
