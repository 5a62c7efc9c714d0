package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/conn"
	"github.com/acp-bridge/acp-bridge/adapter/conn/ndjson"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Name is what the client calls itself.
const Name = "acp-bridge-chat"

// link is the connection to an agent. What comes over it is put into a box in
// the order of its arrival.
type link struct {
	conn    *conn.Conn
	box     *box
	session acp.SessionId
	agent   string // its name, cleaned
	auth    []acp.AuthMethod
}

// What a box holds.
type (
	// opened says that the session is there, or why not.
	opened struct{ err error }
	// updated holds the update of a session/update.
	updated struct{ update gjson.Result }
	// turned says that a prompt has ended.
	turned struct {
		reason acp.StopReason
		// waiting is the tool call of a question that the next prompt answers.
		waiting string
		err     error
	}
	// gone says that the connection has ended.
	gone struct{ err error }
	// traced is a line of the wire.
	traced struct {
		dir  ndjson.Direction
		line string
	}
	// asked is a [waiting] that is new, withdrawn one that the agent gave up.
	asked     struct{ *waiting }
	withdrawn struct{ *waiting }
)

// waiting is a request of the agent that waits for the user.
type waiting struct {
	*request
	ctx  context.Context // ends when the agent gives the request up
	done chan any        // holds one: the reply
}

// answer sends the reply for an outcome. An error says what to answer instead;
// the ask stays open then.
func (a *waiting) answer(o convert.Outcome, index int) error {
	reply, err := a.reply(o, index)
	if err != nil {
		return err
	}
	select {
	case a.done <- reply:
	default:
	}
	return nil
}

// dismiss sends the reply of a user who does not answer.
func (a *waiting) dismiss() { _ = a.answer(convert.Outcome{Status: convert.Cancelled}, -1) }

// dial starts the connection. wire says that lines are traced.
func dial(r io.Reader, w io.Writer, wire bool) *link {
	l := &link{box: newBox()}
	opts := &conn.Options{Logger: slog.New(slog.DiscardHandler)}
	if wire {
		opts.Trace = func(dir ndjson.Direction, text []byte) { l.box.put(traced{dir, string(text)}) }
	}
	l.conn = conn.New(r, w, (*handler)(l), opts)
	return l
}

// open starts a session and says so in the box.
func (l *link) open(ctx context.Context, o *Options) {
	l.box.put(opened{l.openSession(ctx, o)})
	<-l.conn.Done()
	l.box.put(gone{l.conn.Err()})
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
	l.agent = agentName(init.AgentInfo)
	if o.Session != "" || o.Resume {
		return l.resume(ctx, init.AgentCapabilities, o)
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

// agentName is what an agent calls itself.
func agentName(info *acp.Implementation) string {
	if info == nil {
		return "the agent"
	}
	name := info.Name
	if info.Title != nil && clean.Line(*info.Title) != "" {
		name = *info.Title
	}
	return firstOf(clean.Line(name+" "+info.Version), "the agent")
}

// prompt sends a prompt; its end comes in the box.
func (l *link) prompt(ctx context.Context, words string) {
	resp, err := l.conn.Prompt(ctx, acp.PromptRequest{SessionId: l.session, Prompt: []acp.ContentBlock{acp.TextBlock(words)}})
	l.box.put(turned{reason: resp.StopReason, waiting: waitingFor(resp), err: err})
}

// cancel asks the agent to end the turn.
func (l *link) cancel(ctx context.Context) {
	_ = l.conn.Cancel(ctx, acp.CancelNotification{SessionId: l.session})
}

// handler takes what the agent sends.
type handler link

func (h *handler) Notify(_ context.Context, method string, params json.RawMessage) {
	if method == acp.ClientMethodSessionUpdate {
		h.box.put(updated{gjson.GetBytes(params, "update")})
	}
}

// Accept puts a request into the box, behind the updates before it.
func (h *handler) Accept(ctx context.Context, method string, params json.RawMessage) conn.Answer {
	r, err := parseRequest(method, params)
	if err != nil {
		return func() (any, error) { return nil, err }
	}
	a := &waiting{request: r, ctx: ctx, done: make(chan any, 1)}
	h.box.put(asked{a})
	return func() (any, error) {
		select {
		case reply := <-a.done:
			return reply, nil
		case <-ctx.Done():
			h.box.put(withdrawn{a})
			return nil, ctx.Err()
		}
	}
}

func (h *handler) Request(_ context.Context, method string, _ json.RawMessage) (any, error) {
	return nil, acp.NewMethodNotFound(method)
}

// box is a queue that takes everything at once: the connection must not wait
// for a terminal.
type box struct {
	mu    sync.Mutex
	held  []any
	ready chan struct{} // holds one while something is held
}

func newBox() *box { return &box{ready: make(chan struct{}, 1)} }

func (b *box) put(v any) {
	b.mu.Lock()
	b.held = append(b.held, v)
	b.mu.Unlock()
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

// take returns what is held. After a receive from ready there is something.
func (b *box) take() []any {
	b.mu.Lock()
	defer b.mu.Unlock()
	held := b.held
	b.held = nil
	return held
}

// waitingFor names the tool call that a response says is open.
func waitingFor(resp acp.PromptResponse) string {
	bridge, _ := resp.Meta["acp-bridge"].(map[string]any)
	id, _ := bridge["waitingFor"].(string)
	return id
}
