package agent

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter/claude"
	"github.com/acp-bridge/acp-bridge/adapter/conn"
	"github.com/acp-bridge/acp-bridge/convert"
)

// session is one ACP session and the CLI process behind it.
//
// The process is read by one goroutine, which also sends the updates. Prompts
// wait in line, each in the goroutine that answers it. Everything they share is
// guarded by mu, which is never held while something is sent or waited for.
type session struct {
	agent *Agent
	id    string
	cwd   string
	// ctx ends when the session is closed; its cause says why.
	ctx    context.Context
	cancel context.CancelCauseFunc
	out    outlet
	// ended is closed when nothing is left of a closed session.
	ended   chan struct{}
	closing bool // guarded by Agent.mu

	mu       sync.Mutex
	proc     *claude.Process // nil when it is not running
	pumped   chan struct{}   // closed when proc has been read to its end
	cliID    string          // the CLI's own id of the conversation
	prompted bool            // the CLI has something to resume
	mode     string
	info     *claude.InitInfo

	line   []*prompt // prompts in order of arrival; the first one runs
	turn   *turn     // what the CLI works on; nil when it is idle
	parked *parked   // a question that waits for the next prompt
	// interrupting is closed when the CLI has seen the interrupt that is on its
	// way; nil when there is none.
	interrupting chan struct{}
	dead         error           // why the CLI ended while a question was parked
	asking       map[string]bool // calls in front of the user, not counting a parked one
}

// turn is one piece of work of the CLI, from a prompt to its result.
type turn struct {
	// ctx ends with the turn: what is open at the client is withdrawn then.
	ctx       context.Context
	cancel    context.CancelCauseFunc
	cancelled bool           // guarded by session.mu
	owner     *prompt        // the prompt that it runs in; guarded by session.mu
	own       bool           // the CLI began it by itself
	asks      sync.WaitGroup // requests to the client
	over      chan struct{}
	authError bool // of the reader alone
}

func (s *session) newTurn() *turn {
	t := &turn{over: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancelCause(s.ctx)
	return t
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
	if !filepath.IsAbs(r.Cwd) {
		return nil, invalid("cwd must be an absolute path, got %q", r.Cwd)
	}
	s := &session{agent: a, id: claude.NewSessionID(), cwd: filepath.Clean(r.Cwd), asking: map[string]bool{}, ended: make(chan struct{})}
	s.cliID = s.id
	s.ctx, s.cancel = context.WithCancelCause(a.ctx)
	s.out.init(s)
	if err := s.start(ctx); err != nil {
		s.cancel(err)
		return nil, processError(err)
	}
	if err := a.add(s); err != nil {
		return nil, err
	}
	return conn.Then(acp.NewSessionResponse{SessionId: acp.SessionId(s.id), Modes: s.modes()}, s.announceCommands), nil
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

// end closes a session in the background, once; Serve waits for it.
func (a *Agent) end(s *session, why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s.closing {
		return
	}
	s.closing = true
	delete(a.sessions, s.id)
	s.cancel(why)
	a.closing.Add(1)
	go func() {
		defer a.closing.Done()
		defer close(s.ended)
		s.out.release()
		if proc, pumped := s.process(); proc != nil {
			if err := proc.Close(context.Background()); err != nil {
				a.log.Warn("Claude Code did not end", "session", s.id, "err", err)
			}
			<-pumped
		}
		a.ask().EndSession(s.id)
	}()
}

// process returns the running CLI, or nil.
func (s *session) process() (*claude.Process, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc, s.pumped
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
	s.mu.Lock()
	o := claude.Options{
		Path: path, Dir: s.cwd, Mode: s.mode,
		Args: s.agent.opts.Args, Env: s.agent.opts.Env,
		Logger: s.agent.log.With("session", s.id),
		Trace:  s.trace(),
	}
	if resume {
		o.Resume = s.cliID
	} else {
		o.SessionID = s.cliID
	}
	s.mu.Unlock()
	proc, err := claude.Start(s.ctx, o)
	if err != nil {
		return err
	}
	info, err := proc.Initialize(ctx)
	if err != nil {
		_ = proc.Close(context.Background())
		return err
	}
	s.mu.Lock()
	if s.ctx.Err() != nil {
		s.mu.Unlock()
		_ = proc.Close(context.Background())
		return context.Cause(s.ctx)
	}
	s.proc, s.info, s.pumped = proc, info, make(chan struct{})
	if s.mode == "" {
		s.mode = info.Mode
	}
	s.mu.Unlock()
	go s.pump(proc, s.pumped)
	return nil
}

func (s *session) trace() func(byte, []byte) {
	if s.agent.opts.Trace == nil {
		return nil
	}
	return func(dir byte, line []byte) { s.agent.opts.Trace(s.id, dir == '<', line) }
}

// modeNames are the permission modes that the CLI can be switched to.
var modeNames = []acp.SessionMode{
	{Id: "default", Name: "Default", Description: acp.Ptr("Asks before it edits files or runs commands")},
	{Id: "acceptEdits", Name: "Accept Edits", Description: acp.Ptr("Edits files without asking")},
	{Id: "plan", Name: "Plan", Description: acp.Ptr("Plans and changes nothing")},
	{Id: "dontAsk", Name: "Don't Ask", Description: acp.Ptr("Refuses what is not allowed already")},
	{Id: "auto", Name: "Auto", Description: acp.Ptr("Decides by itself what needs asking")},
	{Id: "bypassPermissions", Name: "Bypass Permissions", Description: acp.Ptr("Does everything without asking")},
}

func (s *session) modes() *acp.SessionModeState {
	s.mu.Lock()
	defer s.mu.Unlock()
	current := s.mode
	if current == "" {
		current = "default"
	}
	state := &acp.SessionModeState{CurrentModeId: acp.SessionModeId(current)}
	for _, m := range modeNames {
		if m.Id != "bypassPermissions" || current == "bypassPermissions" || s.agent.mayBypass() {
			state.AvailableModes = append(state.AvailableModes, m)
		}
	}
	if !slices.ContainsFunc(state.AvailableModes, func(m acp.SessionMode) bool { return m.Id == state.CurrentModeId }) {
		state.AvailableModes = append(state.AvailableModes, acp.SessionMode{Id: state.CurrentModeId, Name: current})
	}
	return state
}

// mayBypass reports whether the user started the bridge with leave to do so.
func (a *Agent) mayBypass() bool {
	return slices.Contains(a.opts.Args, "--dangerously-skip-permissions") ||
		slices.Contains(a.opts.Args, "--allow-dangerously-skip-permissions")
}

func (a *Agent) setMode(ctx context.Context, r acp.SetSessionModeRequest) (any, error) {
	s, err := a.session(r.SessionId)
	if err != nil {
		return nil, err
	}
	mode := string(r.ModeId)
	known := slices.ContainsFunc(s.modes().AvailableModes, func(m acp.SessionMode) bool { return m.Id == r.ModeId })
	if !known {
		return nil, invalid("unknown mode %q: the modes of a session are listed in the reply to session/new", mode)
	}
	// Noted first: the CLI's own report of the change is then no news.
	before := s.swapMode(mode)
	proc, _ := s.process()
	if proc == nil {
		return acp.SetSessionModeResponse{}, nil
	}
	changed := make(chan error, 1)
	go func() { changed <- proc.SetMode(s.ctx, mode) }()
	select {
	case err = <-changed:
	case <-ctx.Done():
		err = ctx.Err()
	case <-s.out.stuck():
		// The CLI confirms it when it is read again, which the editor must not
		// wait for: it may be what keeps the user from answering.
		go s.confirmMode(before, changed)
	}
	if err != nil {
		s.swapMode(before)
		return nil, processError(fmt.Errorf("the mode was not changed: %w", err))
	}
	return acp.SetSessionModeResponse{}, nil
}

// confirmMode takes a change of mode back that the CLI refuses late.
func (s *session) confirmMode(before string, changed <-chan error) {
	if err := <-changed; err != nil && s.ctx.Err() == nil {
		s.agent.log.Warn("the mode was not changed", "session", s.id, "err", err)
		s.modeChanged(before)
	}
}

func (s *session) swapMode(mode string) (before string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, s.mode = s.mode, mode
	return before
}

// announceCommands tells the editor the slash commands of the CLI.
func (s *session) announceCommands() {
	s.mu.Lock()
	info := s.info
	s.mu.Unlock()
	commands := make([]acp.AvailableCommand, 0, len(info.Commands))
	for _, c := range info.Commands {
		command := acp.AvailableCommand{Name: c.Name, Description: c.Description}
		if c.ArgumentHint != "" {
			command.Input = &acp.AvailableCommandInput{Unstructured: &acp.UnstructuredCommandInput{Hint: c.ArgumentHint}}
		}
		commands = append(commands, command)
	}
	s.out.now(acp.SessionUpdate{AvailableCommandsUpdate: &acp.SessionAvailableCommandsUpdate{AvailableCommands: commands}})
}
