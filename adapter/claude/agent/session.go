package agent

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter/claude"
	"github.com/acp-bridge/acp-bridge/adapter/conn"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display"
)

// session is one ACP session and the CLI process behind it.
//
// The process is read by one goroutine, which also sends the updates. Prompts
// wait in line, each in the goroutine that answers it. Everything they share is
// guarded by mu, which is never held while something is sent or waited for.
type session struct {
	agent *Agent
	id    string
	setup
	// ctx ends when the session is closed; its cause says why.
	ctx    context.Context
	cancel context.CancelCauseFunc
	out    outlet
	tasks  display.Tasks // of whoever reads the CLI or its transcript
	// ended is closed when nothing is left of a closed session.
	ended   chan struct{}
	closing bool // guarded by Agent.mu

	mu       sync.Mutex
	proc     *claude.Process // nil when it is not running
	drained  chan struct{}   // closed when proc has ended and been read
	givenUp  *claude.Process // is being killed
	requests *requests       // what proc waits for
	cliID    string          // the CLI's own id of the conversation
	prompted bool            // the CLI has something to resume
	forkOf   string          // the session that this one begins as a copy of
	title    string          // as the editor knows it
	mode     string
	model    string // empty for the CLI's own choice
	info     *claude.InitInfo
	tuning

	steers bool      // proc takes prompts into a running turn, and says so
	line   []*prompt // prompts in order of arrival
	turn   *turn     // what the CLI works on; nil when it is idle
	parked *parked   // a question that waits for the next prompt
	// interrupting is closed when the CLI has seen the interrupt that is on its
	// way; nil when there is none.
	interrupting chan struct{}
	dead         error // why the CLI ended while a question was parked
}

// turn is one piece of work of the CLI, from a prompt to its result.
type turn struct {
	// ctx ends with the turn: what is open at the client is withdrawn then.
	ctx    context.Context
	cancel context.CancelCauseFunc
	own    bool            // the CLI began it by itself
	proc   *claude.Process // that works on it
	begun  chan struct{}   // closed when the CLI has begun with it

	// The next ones are guarded by session.mu.

	cancelled bool
	owner     *prompt   // the prompt that it runs in
	steered   []*prompt // those that were sent while it ran
	ids       []string  // of all prompts that the CLI got for it
	queued    bool      // the CLI may have prompts in its queue
	doomed    bool      // its prompts were cancelled before it began
	// folded is the result of a turn of the CLI's own that may have taken the
	// prompt along; for a CLI that does not say which prompts a result answers.
	folded claude.Message

	asks      sync.WaitGroup // requests to the client
	over      chan struct{}
	authError bool // of the reader alone
}

// newTurn makes a turn of the process that runs. mu is held.
func (s *session) newTurn() *turn {
	t := &turn{proc: s.proc, begun: make(chan struct{}), over: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancelCause(s.ctx)
	return t
}

// begin notes that the CLI works on the turn. mu of the session is held.
func (t *turn) begin() {
	if !closed(t.begun) {
		close(t.begun)
	}
}

// prompts are those that wait for the turn. mu of the session is held.
func (t *turn) prompts() []*prompt {
	if t.owner == nil {
		return t.steered
	}
	return append([]*prompt{t.owner}, t.steered...)
}

// end notes that the turn is over. mu of the session is held.
func (t *turn) end() {
	t.begin()
	close(t.over)
}

var (
	errSessionClosed error = ended{"the session was closed", convert.ErrCancelled}
	errTurnOver            = errors.New("the agent's turn ended")
	errWithdrawn           = errors.New("the agent withdrew the request")
)

// ended is why a session is over. Its kind says how open questions end: so
// that the agent does not work on.
type ended struct {
	text string
	kind error
}

func (e ended) Error() string { return e.text }
func (e ended) Unwrap() error { return e.kind }

// newSession starts the CLI and waits for its initialize reply and nothing
// else: models and commands come from it.
func (a *Agent) newSession(ctx context.Context, r acp.NewSessionRequest) (any, error) {
	u, err := newSetup(r.Cwd, r.AdditionalDirectories, r.McpServers, r.Meta, a.log)
	if err != nil {
		return nil, err
	}
	s := a.prepare(claude.NewSessionID(), u)
	if err := a.open(ctx, s); err != nil {
		return nil, err
	}
	return conn.Then(acp.NewSessionResponse{
		SessionId: acp.SessionId(s.id), Modes: s.modes(), ConfigOptions: s.options(),
	}, s.announce), nil
}

// starting is the time in which a process is started and its session registered.
// Serve waits for its end; the context ends with the agent's.
func (a *Agent) starting(ctx context.Context) (context.Context, func(), error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ctx.Err() != nil {
		return nil, nil, internal(errEditorGone.Error())
	}
	a.closing.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(a.ctx, func() { cancel(context.Cause(a.ctx)) })
	return ctx, func() {
		stop()
		cancel(nil)
		a.closing.Done()
	}, nil
}

// open starts a session's process and registers it.
func (a *Agent) open(ctx context.Context, s *session) error {
	ctx, started, err := a.starting(ctx)
	if err != nil {
		s.cancel(err)
		return err
	}
	defer started()
	if err = s.check(); err == nil {
		if err = s.start(ctx); err != nil {
			err = processError(err)
		}
	}
	if err != nil {
		s.cancel(err)
		return err
	}
	return a.add(s)
}

// prepare makes a session that is not registered yet and has no process.
func (a *Agent) prepare(id string, u setup) *session {
	s := &session{
		agent: a, id: id, cliID: id, setup: u,
		ended: make(chan struct{}),
		model: u.model, tuning: tuning{effort: u.effort},
	}
	s.ctx, s.cancel = context.WithCancelCause(a.ctx)
	s.out.init(s)
	return s
}

// add registers a session, unless the editor has gone meanwhile.
func (a *Agent) add(s *session) error {
	a.mu.Lock()
	gone := a.ctx.Err() != nil
	if !gone {
		a.sessions[s.id] = s
	}
	a.mu.Unlock()
	if gone {
		a.end(s, errEditorGone)
		return internal(errEditorGone.Error())
	}
	return nil
}

// closeSession ends a session and its process.
func (a *Agent) closeSession(r acp.CloseSessionRequest) (any, error) {
	s, err := a.session(r.SessionId)
	if err != nil {
		return nil, err
	}
	a.end(s, errSessionClosed)
	<-s.ended
	return acp.CloseSessionResponse{}, nil
}

// end closes a session in the background, once; Serve waits for it. What is
// open ends first, at the editor too, then the prompts, then the session.
func (a *Agent) end(s *session, why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if why != errSessionClosed {
		s.cancel(why) // nobody is there to be told
	}
	if s.closing {
		return
	}
	s.closing = true
	a.closing.Add(1)
	go func() {
		defer a.closing.Done()
		defer close(s.ended)
		s.cancelAll()
		s.out.release()
		if proc, drained := s.process(); proc != nil {
			if err := proc.Close(context.Background()); err != nil {
				a.log.Warn("Claude Code did not end", "session", s.id, "err", err)
			}
			<-drained
		}
		s.cancel(why)
		a.mu.Lock()
		delete(a.sessions, s.id)
		a.mu.Unlock()
		a.ask().EndSession(s.id)
	}()
}

// process returns the running CLI, or nil.
func (s *session) process() (*claude.Process, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc, s.drained
}

// start starts the CLI: anew, or where the conversation was.
func (s *session) start(ctx context.Context) error {
	s.mu.Lock()
	resume := s.prompted
	s.mu.Unlock()
	err := s.launch(ctx, resume)
	var exit *claude.ExitError
	if resume && errors.As(err, &exit) && len(exit.Errors) > 0 {
		// The CLI has nothing under this id: it died before it wrote anything.
		s.agent.log.Warn("the conversation could not be resumed, a new one begins", "session", s.id, "err", err)
		if s.launch(ctx, false) == nil {
			return nil
		}
	}
	return err
}

func (s *session) launch(ctx context.Context, resume bool) error {
	path, err := s.agent.claudePath()
	if err != nil {
		return err
	}
	flags, remove, err := s.flags()
	if err != nil {
		return err
	}
	defer remove() // the CLI has read it when it answers initialize
	hooks := s.agent.hooks()
	s.mu.Lock()
	o := claude.Options{
		Path: path, Dir: s.cwd, Mode: s.mode, Model: s.model, Flags: flags,
		Args: s.agent.opts.Args, Env: s.agent.cliEnv(s.env),
		Hooks: hooks, Opening: s.opening, Surface: []string{hookCallback, claude.Elicitation, claude.UserDialog},
		Logger: s.agent.log.With("session", s.id),
		Trace:  s.trace(),
	}
	switch {
	case resume:
		o.Resume = s.cliID
	case s.forkOf != "":
		o.Resume, o.SessionID = s.forkOf, s.cliID
		o.Flags = append(o.Flags, "--fork-session")
	default:
		o.SessionID = s.cliID
	}
	s.mu.Unlock()
	p := s.newPump()
	o.OnMessage = p.message
	o.OnDrained = s.agent.connection().Hurry
	proc, err := claude.Start(s.ctx, o)
	if err != nil {
		return err
	}
	p.requests.use(proc)
	info, err := proc.Initialize(ctx)
	if err != nil {
		_ = proc.Close(context.Background())
		return err
	}
	s.tune(ctx, proc, info)
	s.mu.Lock()
	if s.ctx.Err() != nil {
		s.mu.Unlock()
		_ = proc.Close(context.Background())
		return context.Cause(s.ctx)
	}
	s.proc, s.info, s.drained, s.requests = proc, info, make(chan struct{}), p.requests
	s.steers = false // it says so when it begins with its first turn
	if s.mode == "" {
		s.mode = info.Mode
	}
	s.mu.Unlock()
	go p.drain(proc, s.drained)
	return nil
}

// logPanic is for what ends one session's work and must not end the others'.
func (s *session) logPanic(v any) {
	s.agent.log.Error("a session's code panicked", "session", s.id, "panic", v, "stack", string(debug.Stack()))
}

func (s *session) trace() func(byte, []byte) {
	if s.agent.opts.Trace == nil {
		return nil
	}
	return func(dir byte, line []byte) { s.agent.opts.Trace(s.id, dir == '<', line) }
}
