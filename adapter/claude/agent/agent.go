// Package agent is the ACP agent that an editor starts: it runs the user's
// Claude Code behind an ACP connection and asks its questions in the editor.
//
//	err := agent.Serve(ctx, os.Stdin, os.Stdout, agent.Options{})
//
// Each ACP session has a Claude Code process of its own. What the process
// writes becomes updates, in order and once; what it asks becomes permission
// requests, forms or messages through package adapter.
package agent

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/claude"
	"github.com/acp-bridge/acp-bridge/adapter/conn"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
)

// Options say how to serve an editor. The zero value finds Claude Code where
// it usually is.
type Options struct {
	// Claude is the CLI's executable; empty looks for it, see [claude.Find].
	Claude string
	// Args are passed to the CLI behind the agent's own arguments.
	Args []string
	// Env is the CLI's environment; nil is that of this process.
	Env []string
	// First is the rung on which questions are asked first; the zero value
	// goes by what the client has.
	First adapter.Rung
	// Guard distrusts answers that come faster than a person can read.
	Guard bool
	// Now is the clock by which answers are too fast; nil is [time.Now].
	Now func() time.Time
	// CancelGrace is how long a cancelled turn may take to end before its
	// process is ended; 0 stands for 5 seconds.
	CancelGrace time.Duration
	// Login is how a user logs in in a terminal of the editor; nil leaves it to
	// the user.
	Login *Login
	// Version is what initialize reports.
	Version string
	// Logger gets what goes wrong; nil discards it.
	Logger *slog.Logger
	// Trace sees every line of both wires: "editor" or the session's id, and
	// whether the line came in.
	Trace func(wire string, in bool, line []byte)
}

const defaultCancelGrace = 5 * time.Second

// Agent serves one editor.
type Agent struct {
	opts Options
	log  *slog.Logger
	conn *conn.Conn
	// ctx ends when the editor is gone.
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu       sync.Mutex
	asker    *adapter.Adapter // made by initialize
	desk     *desk.Desk       // what is open in all sessions
	canRead  bool             // the editor reads out its buffers
	toggles  bool             // the editor has options that are on or off
	opensURL bool             // the editor sends its user to addresses
	terminal string           // see terminalKey
	sessions map[string]*session
	closing  sync.WaitGroup // sessions whose processes are being started or ended
}

// Serve speaks ACP until the editor closes its end or ctx ends, then ends all
// sessions and their processes. It returns nil when the editor left.
func Serve(ctx context.Context, r io.Reader, w io.Writer, opts Options) error {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.CancelGrace == 0 {
		opts.CancelGrace = defaultCancelGrace
	}
	a := &Agent{opts: opts, log: opts.Logger, sessions: map[string]*session{}}
	a.ctx, a.cancel = context.WithCancelCause(ctx)
	// Handlers may run before New returns: they wait for the connection here.
	a.mu.Lock()
	a.conn = conn.New(r, w, a, &conn.Options{Logger: opts.Logger, MaxLine: maxLine, Trace: a.trace()})
	a.desk = new(desk.Desk)
	a.desk.Watch(a.questionChanged)
	a.asker = a.newAsker(acp.InitializeRequest{})
	a.mu.Unlock()
	select {
	case <-a.conn.Done():
	case <-ctx.Done():
	}
	return a.shutDown()
}

// maxLine is the longest line taken from an editor: prompts carry images.
const maxLine = 64 << 20

func (a *Agent) shutDown() error {
	a.mu.Lock()
	sessions := make([]*session, 0, len(a.sessions))
	for _, s := range a.sessions {
		sessions = append(sessions, s)
	}
	a.cancel(errEditorGone) // from here on nothing is started
	a.mu.Unlock()
	for _, s := range sessions {
		a.end(s, errEditorGone)
	}
	a.closing.Wait()
	if err := a.conn.Close(); err != nil {
		a.log.Debug("the editor did not take everything", "err", err)
	}
	return nil
}

func (a *Agent) trace() func(conn.Direction, []byte) {
	if a.opts.Trace == nil {
		return nil
	}
	return func(d conn.Direction, line []byte) { a.opts.Trace("editor", d == conn.In, line) }
}

// connection waits until Serve has made it.
func (a *Agent) connection() *conn.Conn {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.conn
}

func (a *Agent) session(id acp.SessionId) (*session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.sessions[string(id)]
	if s == nil || s.closing {
		return nil, notFound("there is no session %q: it was never opened here, or is closed", id)
	}
	return s, nil
}

// known is session for what still has to be said about one that is being
// closed.
func (a *Agent) known(id string) *session {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sessions[id]
}

// Accept takes prompts in the order in which they arrive, so that a cancel
// that follows finds its prompt. It implements [conn.Acceptor].
func (a *Agent) Accept(_ context.Context, method string, params json.RawMessage) conn.Answer {
	if method != acp.AgentMethodSessionPrompt {
		return nil
	}
	a.connection()
	answer, err := a.acceptPrompt(params)
	if err != nil {
		return func() (any, error) { return nil, err }
	}
	return answer
}

// Request answers everything but prompts. It implements [conn.Handler].
func (a *Agent) Request(ctx context.Context, method string, params json.RawMessage) (any, error) {
	a.connection()
	switch method {
	case acp.AgentMethodInitialize:
		return a.initialize(params)
	case acp.AgentMethodAuthenticate:
		return handle(params, func(r acp.AuthenticateRequest) (any, error) { return a.authenticate(ctx, r) })
	case acp.AgentMethodLogout:
		return a.logout(ctx)
	case acp.AgentMethodSessionNew:
		return handle(params, func(r acp.NewSessionRequest) (any, error) { return a.newSession(ctx, r) })
	case acp.AgentMethodSessionList:
		return handle(params, func(r acp.ListSessionsRequest) (any, error) { return a.listSessions(ctx, r) })
	case acp.AgentMethodSessionLoad:
		return handle(params, func(r acp.LoadSessionRequest) (any, error) { return a.loadSession(ctx, r) })
	case acp.AgentMethodSessionResume:
		return handle(params, func(r acp.ResumeSessionRequest) (any, error) { return a.resumeSession(ctx, r) })
	case acp.AgentMethodSessionFork:
		return a.forkSession(ctx, params)
	case acp.AgentMethodSessionDelete:
		return handle(params, a.deleteSession)
	case acp.AgentMethodSessionSetMode:
		return handle(params, func(r acp.SetSessionModeRequest) (any, error) { return a.setMode(ctx, r) })
	case acp.AgentMethodSessionSetConfigOption:
		return a.setOption(ctx, params)
	case acp.AgentMethodSessionClose:
		return handle(params, a.closeSession)
	}
	return nil, acp.NewMethodNotFound(method)
}

// Notify implements [conn.Handler].
func (a *Agent) Notify(_ context.Context, method string, params json.RawMessage) {
	a.connection()
	if method != acp.AgentMethodSessionCancel {
		a.log.Debug("notification ignored", "method", method)
		return
	}
	var n acp.CancelNotification
	if err := json.Unmarshal(params, &n); err != nil {
		a.log.Warn("session/cancel with unreadable parameters", "err", err)
		return
	}
	s, err := a.session(n.SessionId)
	if err != nil {
		a.log.Warn("session/cancel for an unknown session")
		return
	}
	s.cancelAll()
}

// handle decodes parameters and calls the method's function.
func handle[T any](params json.RawMessage, f func(T) (any, error)) (any, error) {
	request, err := decode[T](params)
	if err != nil {
		return nil, err
	}
	return f(request)
}

func decode[T any](params json.RawMessage) (request T, err error) {
	if len(params) == 0 {
		params = json.RawMessage("{}")
	}
	if err := json.Unmarshal(params, &request); err != nil {
		return request, unreadable(err)
	}
	return request, nil
}

var errEditorGone error = ended{"the editor closed the connection", convert.ErrDisconnected}

// cliEnv is the environment of the CLI with what a session adds to it. The CLI
// is asked to say when it is idle.
func (a *Agent) cliEnv(more []string) []string {
	env := a.opts.Env
	if env == nil {
		env = os.Environ()
	}
	return append(slices.Concat(env, more), "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1")
}

// claudePath finds the CLI.
func (a *Agent) claudePath() (string, error) {
	return claude.Find(a.opts.Claude, os.Getenv)
}
