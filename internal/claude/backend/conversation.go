package backend

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/display"
	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/conn"
)

// conversation is the Claude Code behind one session.
//
// What its process says is handled on one lane, see [pump], which also sends the
// updates. What is shared with others is published whole, so that it needs no lock.
type conversation struct {
	agent *backend
	out   *editor.Session
	id    string
	ctx   context.Context // the session's
	setup
	reasks *reasking // of a session that was opened again
	past   []*part   // sub-agents of its transcript, when that was replayed
	forkOf string    // the session that this one begins as a copy of

	// Of whoever reads a transcript, and then of the lane.
	tasks    display.Tasks
	badLogin bool    // the turn met an API that knows no login
	apiError string  // the kind of the turn's last error, as the CLI names it
	toldLeft bool    // the user knows what of the editor's options is not used
	title    string  // as the editor knows it
	spent    float64 // under the CLI's id of now, in dollars
	// spentBefore is what was spent under those that it had.
	spentBefore float64

	running  atomic.Pointer[process]         // nil when it is not running
	info     atomic.Pointer[claude.InitInfo] // of the process that was started last; set before anything is handled
	named    atomic.Pointer[string]          // the CLI's own id of the conversation, if that is another one
	prompted atomic.Bool                     // the CLI has something to resume
	chosen   atomic.Pointer[choices]         // see choose
	asking   sync.Map                        // ids of calls that need permission: the tool's name
	clearing atomic.Pointer[clearing]        // what follows when the CLI has cleared its context
	picked   atomic.Pointer[string]          // the mode that the user picked since the yes to a plan, if any
	reports  sync.Map                        // ids of prompts that asked for a report: its name
}

// process is a running CLI.
type process struct {
	proc    *claude.Process
	pump    *pump
	drained chan struct{} // closed when proc has ended and been read
}

// begin answers session/new, and session/fork: a new session that begins with all that was
// said in another. It waits for the CLI's initialize reply and nothing else: models and
// commands come from it.
func (a *backend) begin(ctx context.Context, o editor.Opening) (*conversation, any, error) {
	u, id, err := a.setupOf(o.Params)
	if err != nil {
		return nil, nil, err
	}
	s := a.prepare(o, claude.NewSessionID(), u)
	if o.Method == acp.AgentMethodSessionFork {
		if _, s.forkOf, err = a.find(u.env, id, u.cwd); err != nil {
			return nil, nil, err
		}
	}
	if err := s.check(); err != nil {
		return nil, nil, err
	}
	if err := s.start(ctx); err != nil {
		return nil, nil, processError(err)
	}
	return s, conn.Then(acp.NewSessionResponse{
		SessionId: acp.SessionId(s.id), Modes: s.modes(), ConfigOptions: s.options(),
	}, s.announce), nil
}

// prepare makes a conversation that has no process yet.
func (a *backend) prepare(o editor.Opening, id string, u setup) *conversation {
	out := o.Session(id)
	s := &conversation{agent: a, out: out, id: id, ctx: out.Context(), setup: u}
	s.chosen.Store(&choices{model: u.model, effort: u.effort})
	return s
}

// Read implements [editor.Conversation].
func (s *conversation) Read(r acp.PromptRequest) (any, error) {
	blocks, err := promptBlocks(r.Prompt)
	if err != nil || len(blocks) == 0 {
		return nil, err
	}
	if id := reportRequest(r.Meta); id != "" && s.agent.editor().airTakes[airFileReport] {
		return reported{blocks, id}, nil
	}
	return blocks, nil
}

// reported is a prompt that asks for a report of the files that its turn edits.
type reported struct {
	blocks  any
	request string
}

// Prompt implements [editor.Conversation].
func (s *conversation) Prompt(id string, content any) error {
	proc := s.process()
	if proc == nil {
		return editor.ErrGone
	}
	c, _ := content.(*clearing)
	s.clearing.Store(c)
	if c != nil {
		content = c.prompt
	}
	if r, ok := content.(reported); ok {
		content = r.blocks
		s.reports.Store(id, r.request)
	}
	if err := proc.PromptAs(id, content); err != nil {
		s.clearing.Store(nil) // another process may do it
		if errors.Is(err, claude.ErrExited) {
			return editor.ErrGone
		}
		return processError(err)
	}
	s.prompted.Store(true)
	return nil
}

// Interrupt implements [editor.Conversation].
func (s *conversation) Interrupt(ctx context.Context, all bool) error {
	proc := s.process()
	if c := s.clearing.Load(); c != nil {
		c.off.Store(true) // nothing follows
	}
	switch {
	case proc == nil:
		return editor.ErrGone
	case all:
		return proc.InterruptAll(ctx)
	}
	return proc.Interrupt(ctx)
}

// Describe implements [editor.Conversation].
func (s *conversation) Describe(it *desk.Item) {
	it.Agent, it.Dir = "Claude Code", s.cwd
	if s.info.Load() != nil {
		it.About.Model = s.modelName()
	}
	if name, ok := s.asking.Load(it.Call.ID); ok && it.Kind == desk.Permission {
		it.Call.Name = name.(string)
	}
}

// modelName is the model for people.
func (s *conversation) modelName() string {
	model := s.chosen.Load().currentModel(s.info.Load())
	if model.Value == defaultValue && model.Resolved != "" {
		return model.Resolved // its name says nothing
	}
	return model.DisplayName
}

// Kill implements [editor.Conversation].
func (s *conversation) Kill() {
	if proc := s.process(); proc != nil {
		proc.Kill()
	}
}

// Close implements [editor.Conversation].
func (s *conversation) Close(ctx context.Context) error {
	r := s.running.Load()
	if r == nil {
		return nil
	}
	err := r.proc.Close(ctx)
	<-r.drained
	return err
}

// process returns the running CLI, or nil.
func (s *conversation) process() *claude.Process {
	if r := s.running.Load(); r != nil {
		return r.proc
	}
	return nil
}

// Start implements [editor.Conversation].
func (s *conversation) Start(ctx context.Context) error {
	if err := s.start(ctx); err != nil {
		return processError(err)
	}
	s.hear()
	s.refresh()
	return nil
}

// hear begins to handle what the CLI says.
func (s *conversation) hear() {
	if r := s.running.Load(); r != nil {
		r.pump.open()
	}
}

// start starts the CLI: anew, or where the conversation was.
func (s *conversation) start(ctx context.Context) error {
	resume := s.prompted.Load()
	err := s.launch(ctx, resume)
	if exit, ok := errors.AsType[*claude.ExitError](err); resume && ok && len(exit.Errors) > 0 {
		// The CLI has nothing under this id: it died before it wrote anything.
		s.agent.log.Warn("the conversation could not be resumed, a new one begins", "session", s.id, "err", err)
		if s.launch(ctx, false) == nil {
			return nil
		}
	}
	return err
}

func (s *conversation) launch(ctx context.Context, resume bool) error {
	path, err := s.agent.claudePath()
	if err != nil {
		return err
	}
	if what := s.asksNothing; what != "" && !s.agent.mayBypass() {
		return conn.Invalid("_meta.claudeCode.options.%s lets Claude Code act without asking, which the arguments of acp-bridge do not allow", what)
	}
	flags, private, err := s.flags(s.agent.provider.Load())
	if err != nil {
		return err
	}
	hooks := s.agent.hooks()
	chosen := s.chosen.Load()
	o := claude.Options{
		Path: path, Dir: s.cwd, Mode: chosen.mode, Model: chosen.model, Flags: flags, Private: private,
		Args: s.agent.opts.Args, Env: s.agent.cliEnv(s.env),
		Hooks: hooks, Opening: s.opening, Surface: []string{hookCallback, claude.Elicitation, claude.UserDialog},
		Logger: s.agent.log.With("session", s.id),
		Trace:  s.agent.trace(s.id),
	}
	switch {
	case resume:
		o.Resume = s.cliID()
	case s.forkOf != "":
		o.Resume, o.SessionID = s.forkOf, s.cliID()
		o.Flags = append(o.Flags, "--fork-session")
	default:
		o.SessionID = s.cliID()
	}
	p := newPump(s)
	if s.agent.editor().parts {
		p.painter.haveParts()
		o.Opening = merged(object{"forwardSubagentText": true, "forwardNestedSubagentToolCalls": true}, o.Opening)
	}
	o.OnMessage = p.message
	o.OnDrained = s.out.Flush
	proc, err := claude.Start(s.ctx, o)
	if err != nil {
		return err
	}
	p.proc = proc
	info, err := proc.Initialize(ctx)
	if err == nil {
		err = s.lower(ctx, proc, info)
	}
	if err == nil {
		s.tune(ctx, proc, info)
		err = context.Cause(s.ctx)
	}
	if err != nil {
		_ = proc.Close(context.Background())
		return err
	}
	s.choose(func(c *choices) { c.mode = cmp.Or(c.mode, info.Mode) })
	s.info.Store(info)
	r := &process{proc, p, make(chan struct{})}
	s.running.Store(r)
	go p.drain(r.drained)
	return nil
}

// lower takes back the mode that asks for nothing, if what the editor brought
// along (an environment, settings, plugins) may have chosen it and not the user.
func (s *conversation) lower(ctx context.Context, proc *claude.Process, info *claude.InitInfo) error {
	const bypass = "bypassPermissions"
	brought := len(s.env) > 0 || len(s.args) > 0 || s.settingsFile != nil
	if info.Mode != bypass || !brought || s.agent.mayBypass() || slices.ContainsFunc(s.agent.opts.Args, func(a string) bool { return strings.Contains(a, bypass) }) {
		return nil
	}
	s.agent.log.Warn("the editor's settings chose a mode that asks for nothing: it is not used", "session", s.id)
	info.Mode = "default"
	return proc.SetMode(ctx, info.Mode)
}
