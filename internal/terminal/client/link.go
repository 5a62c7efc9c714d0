package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/conn"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
	"github.com/acp-bridge/acp-bridge/internal/proc"
)

// Name is what the client calls itself.
const Name = "acp-bridge-chat"

// link is the connection to an agent. What comes over it is put into a box in
// the order of its arrival.
type link struct {
	conn    *conn.Conn
	box     *proc.Queue[any] // the connection must not wait for a terminal
	desk    *desk.Desk       // nil if nobody else is asked
	told    *told
	session acp.SessionId
	auth    []acp.AuthMethod
	// left is the tool call of a question that the agent asks again, of a session
	// that was resumed.
	left string
}

// What a box holds.
type (
	// opened says that the session is there, or why not.
	opened struct{ err error }
	// updated holds the update of a session/update.
	updated struct {
		session string
		update  gjson.Result
	}
	// turned says that a prompt has ended.
	turned struct {
		reason acp.StopReason
		// waiting is the tool call of a question that the next prompt answers.
		waiting string
		err     error
		// again says that it was the answer to what was asked again, and no prompt.
		again bool
	}
	// gone says that the connection has ended.
	gone struct{ err error }
	// traced is a line of the wire.
	traced struct {
		dir  ndjson.Direction
		line string
	}
	// asked is a [waiting] that is new, withdrawn one that the agent gave up, or that
	// somebody else has answered.
	asked     struct{ *waiting }
	withdrawn struct{ *waiting }
)

// waiting is a request of the agent that waits for the user.
type waiting struct {
	*request
	session string          // of the agent: it may ask before the session is said to be open
	again   bool            // that of [desk.Item]
	ctx     context.Context // ends when the agent gives the request up, or somebody else has answered it
	cancel  context.CancelCauseFunc
	said    chan answered   // holds one: what the user says here
	spoken  bool            // the user has: of the goroutine that asks them
	there   convert.Outcome // what was answered elsewhere, once ctx says so
	name    string          // at the desk, then

	// Of told.
	description description
	asked       *about.Asked // nil if it is no permission
}

// answered is an outcome, and the reply that stands for it or why there is none.
type answered struct {
	outcome convert.Outcome
	reply   any
	err     error
}

func newWaiting(ctx context.Context, r *request) *waiting {
	a := &waiting{request: r, said: make(chan answered, 1)}
	a.ctx, a.cancel = context.WithCancelCause(ctx)
	return a
}

// answer sends the reply for an outcome, unless there is one. An error says what to
// answer instead; the ask stays open then.
func (a *waiting) answer(o convert.Outcome, index int) error {
	reply, err := a.reply(o, index)
	if err != nil {
		return err
	}
	a.spoken = true
	a.says(answered{outcome: o, reply: reply})
	return nil
}

// fail tells the agent that the user could not be asked.
func (a *waiting) fail(o convert.Outcome) {
	a.says(answered{outcome: o, err: acp.NewInternalError(map[string]any{"error": o.Reason})})
}

func (a *waiting) says(s answered) {
	select {
	case a.said <- s:
	default:
	}
}

// dismiss sends the reply of a user who does not answer.
func (a *waiting) dismiss() { _ = a.answer(convert.Outcome{Status: convert.Cancelled}, -1) }

// dial starts the connection.
func dial(r io.Reader, w io.Writer, o *Options) *link {
	l := &link{box: proc.NewQueue[any](), desk: o.Desk, told: newTold(o.Dir)}
	opts := &conn.Options{Logger: slog.New(slog.DiscardHandler)}
	if o.Wire {
		opts.Trace = func(dir ndjson.Direction, text []byte) { l.box.Put(traced{dir, string(text)}) }
	}
	l.conn = conn.New(r, w, (*handler)(l), opts)
	return l
}

// open starts a session and says so in the box.
func (l *link) open(ctx context.Context, o *Options) {
	l.box.Put(opened{l.openSession(ctx, o)})
	<-l.conn.Done()
	l.box.Put(gone{l.conn.Err()})
}

func (l *link) openSession(ctx context.Context, o *Options) error {
	init, err := l.conn.Initialize(ctx, acp.InitializeRequest{
		ProtocolVersion: acp.ProtocolVersionNumber,
		ClientInfo:      &acp.Implementation{Name: Name, Title: acp.Ptr("acp-bridge chat"), Version: o.Version},
		ClientCapabilities: acp.ClientCapabilities{
			Elicitation: &acp.ElicitationCapabilities{Form: &acp.ElicitationFormCapabilities{}, Url: &acp.ElicitationUrlCapabilities{}},
			Meta:        map[string]any{"askUserQuestion": true},
		},
	})
	if err != nil {
		return err
	}
	if v := init.ProtocolVersion; v != acp.ProtocolVersionNumber {
		return fmt.Errorf("the agent speaks version %d of ACP, this client version %d", v, acp.ProtocolVersionNumber)
	}
	l.auth = init.AuthMethods
	l.told.agent(init.AgentInfo)
	if o.replays() {
		err := l.resume(ctx, init.AgentCapabilities, o)
		if !o.Rest || err == nil && (l.left != "" || o.Instead) {
			return err
		}
	}
	s, err := l.conn.NewSession(ctx, acp.NewSessionRequest{Cwd: o.Dir, McpServers: []acp.McpServer{}})
	if err != nil {
		return err
	}
	if s.SessionId == "" {
		return errors.New("the agent gave the session no id")
	}
	l.session = s.SessionId
	return nil
}

// waitMethod is acp-bridge's: it ends when what the agent asked again is answered
// and the agent is done with that.
const waitMethod = "_acp-bridge/wait"

// wait waits for the end of what is asked again; it comes in the box.
func (l *link) wait(ctx context.Context) {
	resp, err := conn.CallFor[acp.PromptResponse](ctx, l.conn, waitMethod, map[string]any{"sessionId": l.session})
	l.box.Put(turned{reason: resp.StopReason, err: err, again: true})
}

// prompt sends a prompt; its end comes in the box.
func (l *link) prompt(ctx context.Context, words string) {
	l.told.prompt(string(l.session), words)
	resp, err := l.conn.Prompt(ctx, acp.PromptRequest{SessionId: l.session, Prompt: []acp.ContentBlock{acp.TextBlock(words)}})
	l.box.Put(turned{reason: resp.StopReason, waiting: waitingFor(resp.Meta), err: err})
}

// cancel asks the agent to end the turn.
func (l *link) cancel(ctx context.Context) {
	_ = l.conn.Cancel(ctx, acp.CancelNotification{SessionId: l.session})
}

// handler takes what the agent sends.
type handler link

func (h *handler) Notify(_ context.Context, method string, params json.RawMessage) {
	if method == acp.ClientMethodSessionUpdate {
		session, update := gjson.GetBytes(params, "sessionId").Str, gjson.GetBytes(params, "update")
		h.told.update(session, update)
		h.box.Put(updated{session, update})
	}
}

// Accept puts a request into the box, behind the updates before it.
func (h *handler) Accept(ctx context.Context, method string, params json.RawMessage) conn.Answer {
	r, err := parseRequest(method, params)
	if err != nil {
		return func() (any, error) { return nil, err }
	}
	a := newWaiting(ctx, r)
	h.told.asked(a, gjson.ParseBytes(params))
	h.box.Put(asked{a})
	return func() (any, error) {
		defer a.cancel(nil)
		defer h.told.ended(a)
		reply, err := (*link)(h).decide(a)
		return conn.Sent(reply, func() {
			if a.name != "" {
				h.desk.Receipt(a.name, nil)
			}
		}), err
	}
}

func (h *handler) Request(_ context.Context, method string, _ json.RawMessage) (any, error) {
	return nil, acp.NewMethodNotFound(method)
}

// waitingFor names the tool call that a response says is open.
func waitingFor(meta map[string]any) string {
	bridge, _ := meta["acp-bridge"].(map[string]any)
	id, _ := bridge["waitingFor"].(string)
	return id
}
