package editor

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter"
	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/internal/conn"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
	"github.com/acp-bridge/acp-bridge/internal/session"
)

// Options say how to serve an editor. The zero value is good.
type Options struct {
	// First is the rung on which questions are asked first; the zero value goes
	// by what the editor has.
	First adapter.Rung
	// Guard distrusts answers that come faster than a person can read.
	Guard bool
	// TrustPrompts takes any prompt for the answer to a question in the
	// conversation: a test knows when it sends one. Otherwise it does not count if
	// it may have been on its way before the question was there.
	TrustPrompts bool
	// Now is the clock by which answers are too fast; nil is [time.Now].
	Now func() time.Time
	// CancelGrace is how long a cancelled turn may take to end, and the agent to see
	// the interrupt, before its process is ended; 0 stands for 5 seconds.
	CancelGrace time.Duration
	// Desk gets everything that is asked; nil is one of its own. Whoever has it
	// can list what is open, answer it and cancel it.
	Desk *desk.Desk
	// Announce, if not nil, is called once with a function that tells the user of
	// each session something, where the editor has notices. It does not block.
	Announce func(tell func(warn bool, title string))
	// Logger gets what goes wrong; nil discards it.
	Logger *slog.Logger
	// Trace sees every line from and to the editor.
	Trace ndjson.Trace
}

const defaultCancelGrace = 5 * time.Second

// maxLine is the longest line taken from an editor: prompts carry images.
const maxLine = 64 << 20

// front serves one editor.
type front struct {
	opts    Options
	backend Backend
	log     *slog.Logger
	// conn is there when started is closed.
	conn    *conn.Conn
	started chan struct{}
	ask     atomic.Pointer[adapter.Adapter] // made anew by meet
	client  atomic.Pointer[met]
	notices atomic.Bool // the editor shows them
	// ctx ends when the editor is gone.
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu       sync.Mutex // only step takes it
	sessions map[string]*Session
	opening  map[string]chan struct{} // closed when the opening is over
	busy     sync.WaitGroup           // sessions whose agents are being started or ended
}

// Serve speaks ACP until the editor closes its end or ctx ends, then ends all
// sessions and their agents. It returns nil when the editor left. A nil opts is
// the zero Options.
func Serve(ctx context.Context, r io.Reader, w io.Writer, b Backend, opts *Options) error {
	f := &front{backend: b, sessions: map[string]*Session{}, opening: map[string]chan struct{}{}, started: make(chan struct{})}
	if opts != nil {
		f.opts = *opts
	}
	f.log = cmp.Or(f.opts.Logger, slog.New(slog.DiscardHandler))
	f.opts.CancelGrace = cmp.Or(f.opts.CancelGrace, defaultCancelGrace)
	f.opts.Desk = cmp.Or(f.opts.Desk, &desk.Desk{})
	if f.log.Enabled(ctx, slog.LevelDebug) {
		defer f.opts.Desk.Watch(f.logQuestion)()
	}
	// What ends because this ends has no answer: nobody cancelled it.
	f.ctx, f.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	// Handlers may run before New returns: they wait for the connection here.
	f.conn = conn.New(r, w, f, &conn.Options{Logger: f.log, MaxLine: maxLine, Trace: f.opts.Trace})
	f.meet(acp.InitializeRequest{}, nil)
	if t, ok := b.(interface {
		Tell(notify func(method string, params any))
	}); ok {
		t.Tell(f.notify)
	}
	close(f.started)
	if f.opts.Announce != nil {
		f.opts.Announce(f.announce)
	}
	select {
	case <-f.conn.Done():
		f.shutDown(errEditorGone)
	case <-ctx.Done():
		f.shutDown(errStopped)
	}
	return nil
}

// notify sends a notification about no session.
func (f *front) notify(method string, params any) {
	if err := f.conn.Notify(f.ctx, method, params); err != nil {
		f.log.Debug("the editor was not told", "method", method, "err", err)
	}
}

// logQuestion says how questions are asked.
func (f *front) logQuestion(e desk.Entry) {
	if e.State == desk.Asking && e.Kind != desk.Permission {
		f.log.Debug("question", "session", e.Call.Session, "name", e.Name, "call", e.Call.ID, "question", e.Question+1, "rung", e.Rung)
	}
}

// step has the sessions to itself, and waits for nothing.
func (f *front) step(do func(sessions map[string]*Session)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do(f.sessions)
}

func (f *front) shutDown(why error) {
	var all []*Session
	f.step(func(sessions map[string]*Session) {
		all = slices.Collect(maps.Values(sessions))
		f.cancel(why) // from here on nothing is started
	})
	for _, s := range all {
		f.end(s, why)
	}
	f.busy.Wait()
	if err := f.conn.Close(); err != nil {
		f.log.Debug("the editor did not take everything", "err", err)
	}
}

// connection waits until Serve has made it.
func (f *front) connection() *conn.Conn {
	<-f.started
	return f.conn
}

// session finds a session that is open.
func (f *front) session(id string) (s *Session, err error) {
	f.step(func(sessions map[string]*Session) {
		if s = sessions[id]; s == nil || s.closing {
			s, err = nil, conn.NoSession(id)
		}
	})
	return s, err
}

// Accept takes prompts in the order in which they arrive, so that a cancel that
// follows finds its prompt. It implements [conn.Acceptor].
func (f *front) Accept(ctx context.Context, method string, params json.RawMessage) conn.Answer {
	f.connection()
	if method == acp.AgentMethodSessionNew {
		if _, ok := f.backend.(interface{ OpensInOrder() }); ok {
			response, err := f.open(ctx, method, params)
			return func() (any, error) { return response, err }
		}
	}
	switch method {
	case acp.AgentMethodSessionPrompt:
	case acp.AgentMethodSessionLoad, acp.AgentMethodSessionResume:
		// The editor starts over with it: what comes behind answers nothing that it
		// has shown.
		if s, err := f.session(gjson.GetBytes(params, "sessionId").Str); err == nil {
			s.apply(session.CancelCame{Why: ErrSessionClosed})
		}
		return nil
	case acp.AgentMethodSessionClose, acp.AgentMethodSessionDelete, MethodArchive:
		if s, err := f.session(gjson.GetBytes(params, "sessionId").Str); err == nil {
			return f.closes(ctx, s, method, params)
		}
		return nil
	default:
		return nil
	}
	answer, err := f.acceptPrompt(params)
	if err != nil {
		return func() (any, error) { return nil, err }
	}
	return answer
}

// closes closes a session: that which is there now, not one of its name that is
// opened behind it. What comes behind it answers nothing any more.
func (f *front) closes(ctx context.Context, s *Session, method string, params json.RawMessage) conn.Answer {
	s.apply(session.CancelCame{Why: endOf(method)})
	f.end(s, endOf(method))
	return func() (any, error) {
		<-s.gone
		if method == acp.AgentMethodSessionClose {
			return acp.CloseSessionResponse{}, nil
		}
		return s.conv.Request(ctx, method, params)
	}
}

// acceptPrompt puts a prompt in line. It runs in the order of arrival and does not block.
func (f *front) acceptPrompt(params json.RawMessage) (conn.Answer, error) {
	r, err := conn.Decode[acp.PromptRequest](params)
	if err != nil {
		return nil, err
	}
	s, err := f.session(string(r.SessionId))
	if err != nil {
		return nil, err
	}
	f.prompted(r.Prompt)
	content, err := s.conv.Read(r)
	if err != nil {
		return nil, err
	}
	return s.enqueue(content, s.typed.Read(r.Prompt), nil).answer, nil
}

// Request answers everything but prompts. It implements [conn.Handler].
func (f *front) Request(ctx context.Context, method string, params json.RawMessage) (any, error) {
	f.connection()
	switch method {
	case acp.AgentMethodInitialize:
		return f.initialize(ctx, params)
	case acp.AgentMethodSessionNew, acp.AgentMethodSessionLoad, acp.AgentMethodSessionResume, acp.AgentMethodSessionFork:
		return f.open(ctx, method, params)
	}
	id := gjson.GetBytes(params, "sessionId")
	s, err := f.session(id.Str)
	if err != nil || id.Type != gjson.String {
		return f.backend.Request(ctx, method, params)
	}
	return s.conv.Request(ctx, method, params)
}

// Notify takes session/cancel. It implements [conn.Handler].
func (f *front) Notify(_ context.Context, method string, params json.RawMessage) {
	f.connection()
	if method != acp.AgentMethodSessionCancel {
		f.log.Debug("notification ignored", "method", method)
		return
	}
	n, err := conn.Decode[acp.CancelNotification](params)
	if err != nil {
		f.log.Warn("session/cancel with unreadable parameters", "err", err)
		return
	}
	if s, err := f.session(string(n.SessionId)); err == nil {
		s.apply(session.CancelCame{})
		return
	}
	if !f.stopPart(string(n.SessionId)) {
		f.log.Warn("session/cancel for an unknown session")
	}
}

// stopPart ends the work of a session within another one.
func (f *front) stopPart(id string) bool {
	var all []*Session
	f.step(func(sessions map[string]*Session) { all = slices.Collect(maps.Values(sessions)) })
	return slices.ContainsFunc(all, func(s *Session) bool {
		p, ok := s.conv.(interface{ StopPart(id string) bool })
		if !ok || !p.StopPart(id) {
			return false
		}
		// Editors answer that they cancel what it asks, which is no word about the rest of the
		// turn.
		s.happens(func() session.Event { return session.PartStopped{Keys: s.state.ShownIn(id)} })
		return true
	})
}

// starting runs what starts an agent. Serve waits for its end; the context ends
// when the editor is gone.
func (f *front) starting(ctx context.Context, start func(context.Context) error) error {
	gone := false
	f.step(func(map[string]*Session) {
		if gone = f.ctx.Err() != nil; !gone {
			f.busy.Add(1)
		}
	})
	if gone {
		return conn.Internal(context.Cause(f.ctx).Error())
	}
	defer f.busy.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(f.ctx, func() { cancel(context.Cause(f.ctx)) })()
	return start(ctx)
}

// open begins a session, or goes on with one.
func (f *front) open(ctx context.Context, method string, params json.RawMessage) (response any, err error) {
	var s *Session
	opened := func() {}
	defer func() { opened() }()
	err = f.starting(ctx, func(ctx context.Context) (err error) {
		o := Opening{Method: method, Params: params, Session: func(id string) *Session {
			opened = f.reserve(id)
			s = f.newSession(id)
			return s
		}}
		var conv Conversation
		if conv, response, err = f.backend.Open(ctx, o); err != nil {
			return err
		}
		s.conv = conv
		return f.add(s)
	})
	if err != nil {
		if s != nil {
			s.cancel(err)
		}
		return nil, err
	}
	return response, nil
}

// reserve has the id of a session to itself until opened is called: it ends the
// session that has it, with which the editor starts over, and waits until that, or
// one that is about to be opened, is gone.
func (f *front) reserve(id string) (opened func()) {
	for mine := make(chan struct{}); ; {
		var old *Session
		var other chan struct{}
		f.step(func(sessions map[string]*Session) {
			if old, other = sessions[id], f.opening[id]; old == nil && other == nil {
				f.opening[id] = mine
			}
		})
		switch {
		case other != nil:
			<-other
		case old != nil:
			f.end(old, ErrSessionClosed)
			<-old.gone
		default:
			return func() {
				f.step(func(map[string]*Session) { delete(f.opening, id) })
				close(mine)
			}
		}
	}
}

// add registers a session, unless the editor has gone meanwhile. Serve waits for
// its caller.
func (f *front) add(s *Session) error {
	gone := false
	f.step(func(sessions map[string]*Session) {
		if gone = f.ctx.Err() != nil; !gone {
			sessions[s.id] = s
		}
	})
	if gone {
		why := context.Cause(f.ctx)
		f.end(s, why)
		return conn.Internal(why.Error())
	}
	return nil
}

// end closes a session in the background, once; Serve waits for it. What is open
// ends first, at the editor too, then the prompts, then the session.
func (f *front) end(s *Session, why error) {
	if unattended(why) {
		s.cancel(why) // nobody is there to be told
	}
	first := false
	f.step(func(map[string]*Session) {
		if first = !s.closing; first {
			s.closing = true
			f.busy.Add(1)
		}
	})
	if !first {
		return
	}
	go func() {
		defer f.busy.Done()
		defer close(s.gone)
		s.end(why)
		f.step(func(sessions map[string]*Session) {
			if sessions[s.id] == s {
				delete(sessions, s.id)
			}
		})
		f.ask.Load().EndSession(s.id)
	}()
}

// end closes the session.
func (s *Session) end(why error) {
	how := session.EndedCancelled
	if unattended(why) {
		how = session.Ending{Err: conn.Internal(adapter.Words(why))}
		s.apply(session.CloseCame{How: how, Why: why})
	} else {
		s.apply(session.CancelCame{Why: why})
	}
	s.release()
	if err := s.conv.Close(context.Background()); err != nil {
		s.front.log.Warn("the agent did not end", "session", s.id, "err", err)
	}
	s.apply(session.CloseCame{How: how, Why: why})
	s.cancel(why)
	s.tellAll()
}

// tellAll returns when what was asked has been told how it ended: a question that
// was open is noted then, and asked again when the session is loaded.
func (s *Session) tellAll() {
	var open []*session.Asker
	s.happens(func() session.Event {
		open = slices.Collect(maps.Values(s.state.Askers))
		return nil
	})
	for _, a := range open {
		<-a.Over
	}
}
