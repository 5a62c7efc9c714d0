package editor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/about"
	"github.com/acp-bridge/acp-bridge/internal/conn"
	"github.com/acp-bridge/acp-bridge/internal/life"
	"github.com/acp-bridge/acp-bridge/internal/session"
	"github.com/acp-bridge/acp-bridge/internal/typed"
)

// Session is a session as its [Conversation] sees it: where its updates, its
// turns and its requests go.
type Session struct {
	*outlet
	front *front
	id    string
	// ctx ends when the session is closed; its cause says why.
	ctx    context.Context
	cancel context.CancelCauseFunc
	conv   Conversation

	saying sync.Mutex  // only tells takes it
	said   about.Words // for people who are asked elsewhere

	// typed reads the editor's prompts. Only accept uses it, which runs once at a
	// time.
	typed typed.Reader
	// gone is closed when nothing is left of a closed session.
	gone    chan struct{}
	closing bool // of front.step
	// waits is the tool call of the question in the conversation, a string.
	waits atomic.Value

	// The state and what its keys stand for are touched in happens alone, where
	// nothing is waited for.
	mu       sync.Mutex // only happens takes it
	state    session.Driven
	prompts  map[int]*promptRequest
	last     <-chan struct{} // left of the last prompt
	byID     map[string]int  // prompts, as the agent names them
	askedBy  map[string]int  // requests, as the agent names them
	stop     context.CancelFunc
	ending   chan struct{}       // closed when the agent has seen the last interrupt
	wrapping chan session.Effect // wrapUp or passOver, for who brought the end of a turn
}

// promptRequest is what a prompt in line stands for.
type promptRequest struct {
	s       *Session
	content any
	// begun is closed when the model has seen it; nil for a prompt of the editor.
	begun chan<- struct{}
	seen  bool
	words typed.Words
	took  *acp.Usage          // of the turns that it has gone on from
	done  chan session.Ending // holds one
	said  chan session.Ending // holds one, for [Session.Say]; nil if none waits there
	// before is closed when the response to the prompt before this one is on its
	// way, left when that of this one is.
	before <-chan struct{}
	left   chan struct{}
}

func (f *front) newSession(id string) *Session {
	s := &Session{
		front: f, id: id, gone: make(chan struct{}),
		prompts: map[int]*promptRequest{}, byID: map[string]int{},
		state: session.Drive(session.New()), askedBy: map[string]int{},
		wrapping: make(chan session.Effect, 1),
	}
	if m := f.client.Load(); m != nil {
		s.state.PromptsOnly = m.PromptsOnly
	}
	s.ctx, s.cancel = context.WithCancelCause(f.ctx)
	s.outlet = newOutlet(s)
	return s
}

// ID is the session's id.
func (s *Session) ID() string { return s.id }

// Context ends when the session is closed; its cause says why.
func (s *Session) Context() context.Context { return s.ctx }

// Logger is for what goes wrong in the session.
func (s *Session) Logger() *slog.Logger { return s.front.log }

// Call sends the editor a request of the backend's own.
func (s *Session) Call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	return s.front.connection().Call(ctx, method, params)
}

// Notify sends the editor a notification of the backend's own.
func (s *Session) Notify(method string, params any) {
	if err := s.front.connection().Notify(s.ctx, method, params); err != nil {
		s.front.log.Debug("notification not sent", "session", s.id, "method", method, "err", err)
	}
}

// Flush sends what [Session.Stream] has kept. It does not wait.
func (s *Session) Flush() { s.front.connection().Flush() }

// apply takes an event and does what follows from it.
func (s *Session) apply(ev session.Event) { s.happens(func() session.Event { return ev }) }

// happens is apply for an event that a function makes of the session's state, which it
// has to itself; nil is none.
func (s *Session) happens(event func() session.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ev := event(); ev != nil {
		s.state.Apply(ev, func(prompt int) typed.Words { return s.prompts[prompt].words }, s.perform)
	}
	if !s.state.Working() && len(s.byID) > 0 { // nothing can name them any more
		clear(s.byID)
	}
}

// perform does what the state calls for. It does not block. What it returns is
// the next event.
func (s *Session) perform(e session.Effect) session.Event {
	switch e := e.(type) {
	case session.Start:
		s.start()
	case session.StopStart:
		s.stop()
	case session.Send:
		return s.send(e.Key)
	case session.Interrupt:
		s.ending = make(chan struct{})
		go s.interrupt(e, s.ending)
	case session.StartGrace:
		s.after(s.front.opts.CancelGrace, session.GraceOver(e))
	case session.RepeatSoon:
		s.after(interruptPause, session.InterruptAgain(e))
	case session.Kill:
		s.front.log.Warn("the agent did not honour a cancel, its process is ended",
			"session", s.id, "after", s.front.opts.CancelGrace.Round(time.Millisecond))
		s.conv.Kill()
	case session.Finish:
		p := s.prompts[e.Key]
		delete(s.prompts, e.Key)
		p.done <- e.How
		if p.said != nil {
			p.said <- e.How
		}
	case session.WrapUp, session.PassOver:
		s.wrapping <- e
	case session.Rest:
		it := desk.Item{Call: convert.Call{Session: s.id}} // people elsewhere are told that the agent is through
		s.describe(&it)
		s.front.opts.Desk.EndTurn(desk.Turn{Session: s.id, Agent: it.Agent, Dir: it.Dir, About: it.About, Err: e.How.Err, Working: e.How.Working})
	}
	return nil
}

// interruptPause is the delay before an interrupt is repeated: one that arrives before
// the agent begins its prompt ends nothing.
const interruptPause = 100 * time.Millisecond

func (s *Session) after(d time.Duration, ev session.Event) {
	time.AfterFunc(d, func() {
		if s.ctx.Err() == nil {
			s.apply(ev)
		}
	})
}

// start starts the agent for the first prompt in line.
func (s *Session) start() {
	ctx, cancel := context.WithCancel(s.ctx)
	s.stop = cancel
	go func() {
		defer cancel()
		err := s.front.starting(ctx, s.conv.Start)
		done := session.StartDone{}
		if err != nil {
			done.Failed = &session.Ending{Err: requestError(cmp.Or(context.Cause(s.ctx), err))}
		}
		s.apply(done)
	}()
}

func (s *Session) send(key int) session.Event {
	p := s.prompts[key]
	id := life.UUID() // agents take nothing else for the id of a prompt
	s.byID[id] = key
	err := s.conv.Prompt(id, p.content)
	if err == nil {
		return nil
	}
	delete(s.byID, id)
	return session.SendFailed{Key: key, Gone: errors.Is(err, session.ErrGone), How: session.Ending{Err: requestError(err)}}
}

func (s *Session) interrupt(e session.Interrupt, seen chan<- struct{}) {
	defer close(seen)
	ctx, stop := context.WithTimeout(s.ctx, s.front.opts.CancelGrace)
	defer stop()
	err := s.conv.Interrupt(ctx, e.All)
	if err != nil {
		s.front.log.Debug("interrupt failed", "session", s.id, "err", err)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		s.apply(session.InterruptUnseen{N: e.N})
		return
	}
	s.apply(session.InterruptDone{N: e.N})
}

// awaitEnding waits until the agent has seen an interrupt that is on its way: a
// reply that lets it go on would have it take a prompt into the turn that is about
// to end.
func (s *Session) awaitEnding() {
	var ending chan struct{}
	s.happens(func() session.Event {
		ending = s.ending
		return nil
	})
	if ending != nil {
		<-ending
	}
}

// Say gives the agent words that the editor did not send. They go to it in the prompt
// that answered the agent's request of that id, if one did and its reply has not
// returned; else behind the prompts that wait. It returns at once; ended waits for
// the end of that prompt. Begun is closed when the model has seen it, if the agent
// says that.
func (s *Session) Say(request string, content any, begun chan<- struct{}) (ended func() (acp.StopReason, error)) {
	said := make(chan session.Ending, 1)
	within := false
	s.happens(func() session.Event {
		a := s.state.Askers[s.askedBy[request]]
		if a == nil {
			return nil
		}
		if p := s.prompts[s.state.HeardFrom(a.Key)]; p != nil {
			p.content, p.begun, p.said = content, begun, said
			within, a.GoesOn = true, true
		}
		return nil
	})
	if !within {
		said = s.enqueue(content, typed.Words{}, begun).done
	}
	return func() (acp.StopReason, error) {
		how := <-said
		return how.Reason, how.Err
	}
}

func (s *Session) enqueue(content any, w typed.Words, begun chan<- struct{}) *promptRequest {
	p := &promptRequest{s: s, content: content, begun: begun, words: w, done: make(chan session.Ending, 1), left: make(chan struct{})}
	if text := w.String(); text != "" {
		s.tells(func(w *about.Words) { w.Prompt(text) })
	}
	s.happens(func() session.Event {
		key := s.state.NextKey()
		s.prompts[key] = p
		if begun == nil { // the editor gets no answer to another
			p.before, s.last = s.last, p.left
		}
		return session.PromptCame{Key: key, Empty: content == nil, Own: begun != nil}
	})
	return p
}

// answer is how the editor learns that the prompt has ended: in the order in which
// prompts came.
func (p *promptRequest) answer() (any, error) {
	how := <-p.done
	if p.before != nil {
		<-p.before
	}
	left := func() { close(p.left) }
	if how.Err != nil {
		return conn.Then(nil, left), how.Err
	}
	r := acp.PromptResponse{StopReason: how.Reason, Usage: plus(p.took, how.Usage)}
	if how.Meta != "" {
		_ = json.Unmarshal([]byte(how.Meta), &r.Meta) // what is no object says nothing
	}
	if how.WaitingFor != "" && how.WaitingFor == p.s.waits.Load() { // or that is over by now
		r.Meta = map[string]any{"acp-bridge": map[string]any{"waitingFor": how.WaitingFor}}
	}
	return conn.Then(r, left), nil
}

// Began says that the agent begins to work, on a prompt that it was sent or by
// itself. Steers means that it takes prompts while it works, says what becomes of
// them, and gives back what it has not begun with.
func (s *Session) Began(steers bool) { s.apply(session.TurnBegan{Steers: steers}) }

// PromptBegun says that the model has seen a prompt.
func (s *Session) PromptBegun(id string) {
	s.happens(func() session.Event {
		if key, ok := s.byID[id]; ok {
			if p := s.prompts[key]; p != nil && p.begun != nil && !p.seen {
				p.seen = true
				close(p.begun)
			}
			return session.PromptBegun{Key: key}
		}
		return nil
	})
}

// PromptBack says that the agent gave up a prompt that the model has not seen.
// It is sent again, unless refused says why it would be given up again.
func (s *Session) PromptBack(id string, refused error) {
	s.happens(func() session.Event {
		if key, ok := s.byID[id]; ok {
			return session.PromptBack{Key: key, Refused: refused}
		}
		return nil
	})
}

// EndTurn says that a turn of the agent is over. It takes back what was asked in
// it, calls wrapUp, and ends its prompts; wrapUp draws what is left to draw, and
// is told whether the turn was cancelled. It reports false, and wrapUp is not
// called, if it was no turn of this session's prompts.
//
// EndTurn, Idle and Exited are called one at a time.
func (s *Session) EndTurn(t TurnEnd, wrapUp func(cancelled bool)) bool {
	ev := session.TurnEnded{All: t.All, Own: t.Own, Perhaps: t.Perhaps, How: session.Ending{Reason: t.Reason, Err: t.Err, Working: t.Working, Usage: t.Usage, Meta: t.Meta}}
	return s.wrap(t, func() session.Event {
		for _, id := range t.Prompts {
			key, ok := s.byID[id]
			if !ok {
				key = -1 // of another turn
			}
			ev.Answers = append(ev.Answers, key)
		}
		return ev
	}, wrapUp)
}

// Idle says that the agent works on nothing. If the end of a turn was perhaps that
// of a prompt, it was; wrapUp is as in EndTurn.
func (s *Session) Idle(wrapUp func(cancelled bool)) {
	s.wrap(TurnEnd{}, func() session.Event { return session.AgentIdle{} }, wrapUp)
}

// Exited says that the agent's process has ended. As after EndTurn, the prompts
// end after wrapUp.
func (s *Session) Exited(err error, wrapUp func(cancelled bool)) {
	ended := session.AgentExited{How: session.Ending{Err: requestError(err)}, Why: err}
	s.wrap(TurnEnd{}, func() session.Event { return ended }, wrapUp)
}

func (s *Session) wrap(t TurnEnd, end func() session.Event, draw func(cancelled bool)) bool {
	s.happens(end)
	e, ok := (<-s.wrapping).(session.WrapUp)
	if !ok {
		return false
	}
	defer s.wrapped(t) // also after a panic
	draw(e.Cancelled)
	return true
}

// wrapped ends a turn that is drawn, or continues with t.Then: in the turn's prompt, or
// else in one of its own.
func (s *Session) wrapped(t TurnEnd) {
	var p *promptRequest
	goesOn := false
	s.happens(func() session.Event {
		var owner int
		owner, goesOn = s.state.Owner()
		if p = s.prompts[owner]; p != nil && t.Then != nil {
			p.content, p.took = t.Then, plus(p.took, t.Usage)
			maps.DeleteFunc(s.byID, func(_ string, key int) bool { return key == owner }) // what is still said of it is of that turn
		}
		return session.TurnWrapped{GoesOn: t.Then != nil}
	})
	if p == nil && t.Then != nil && goesOn {
		s.Say("", t.Then, make(chan struct{}))
	}
}

// plus adds up what two turns took.
func plus(a, b *acp.Usage) *acp.Usage {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	sum := func(a, b *int) *int {
		if a == nil || b == nil {
			return cmp.Or(a, b)
		}
		return acp.Ptr(*a + *b)
	}
	return &acp.Usage{
		InputTokens: a.InputTokens + b.InputTokens, OutputTokens: a.OutputTokens + b.OutputTokens, TotalTokens: a.TotalTokens + b.TotalTokens,
		CachedReadTokens: sum(a.CachedReadTokens, b.CachedReadTokens), CachedWriteTokens: sum(a.CachedWriteTokens, b.CachedWriteTokens),
		ThoughtTokens: sum(a.ThoughtTokens, b.ThoughtTokens),
	}
}
