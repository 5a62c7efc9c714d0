package agent

import (
	"context"
	"errors"
	"slices"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/adapter/claude"
)

// pump is what reads one process of the CLI. Its messages are handled on one
// goroutine, in order: it alone sends the turn's updates and ends prompts, so
// that nothing of a turn comes after its prompt's response.
type pump struct {
	s        *session
	painter  *painter
	requests *requests
}

func (s *session) newPump() *pump {
	return &pump{s, newPainter(s), &requests{s: s, open: map[string]context.CancelCauseFunc{}}}
}

func (p *pump) message(m claude.Message) { p.s.handle(m, p.painter, p.requests) }

// drain waits for the end of the process and ends what it leaves behind.
func (p *pump) drain(proc *claude.Process, drained chan struct{}) {
	defer close(drained)
	_, err := proc.Next(context.Background()) // messages go to message: this is the end
	defer func() {
		if v := recover(); v != nil {
			p.s.logPanic(v)
			p.s.dropTurn(processError(err))
		}
	}()
	p.s.exited(p.painter, p.requests, err)
}

func (s *session) handle(m claude.Message, p *painter, r *requests) {
	switch m.Type {
	case claude.TypeStreamEvent:
		p.event(m)
	case claude.TypeAssistant:
		if m.Get("error").String() == "authentication_failed" {
			s.noteAuthError()
		}
		p.assistant(m)
	case claude.TypeUser:
		p.user(m)
	case claude.TypeControlRequest:
		switch m.Subtype {
		case hookCallback:
			r.hook(m)
		case claude.Elicitation:
			r.form(m)
		case claude.UserDialog:
			r.dialog(m)
		default:
			r.ask(m.ToolRequest(), p)
		}
	case claude.TypeControlCancel:
		r.withdraw(m.RequestID())
	case claude.TypeSystem:
		s.system(m, p)
	case claude.TypeResult:
		s.result(m, p)
	case "command_lifecycle":
		s.promptMoved(m)
	case "conversation_reset":
		if id := m.Get("new_conversation_id").String(); id != "" {
			s.mu.Lock()
			s.cliID = id
			s.mu.Unlock()
		}
	}
}

func (s *session) system(m claude.Message, p *painter) {
	switch m.Subtype {
	case "init":
		s.mu.Lock()
		if s.turn == nil { // nobody asked for it: the CLI works by itself
			s.turn = s.newTurn()
			s.turn.own = true
		}
		s.turn.folded = claude.Message{} // a turn begins: the prompt's own, if one waits
		s.turn.begin()
		s.steers = canSteer(m)
		s.mu.Unlock()
		p.wake()
		s.modeChanged(m.Get("permissionMode").String())
	case "status":
		s.modeChanged(m.Get("permissionMode").String())
	case "elicitation_complete":
		s.formComplete(m)
	case "task_started":
		if m.Get("task_type").Str == "local_bash" {
			p.follow(m)
		}
	case "task_notification":
		p.taskEnded(m.Get("task_id").Str, m.Get("status").String())
	case "session_state_changed":
		if m.Get("state").Str == "idle" {
			s.idle(p)
		}
	}
}

// idle ends a prompt that the CLI took into a turn of its own: that turn's
// result was the prompt's, too, and no other will come.
func (s *session) idle(p *painter) {
	s.mu.Lock()
	t := s.turn
	var folded claude.Message
	if t != nil {
		folded = t.folded
	}
	s.mu.Unlock()
	if folded.Type != "" {
		s.endTurn(t, p, nil, func() ending { return resultEnding(folded, t) })
	}
}

func (s *session) noteAuthError() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		s.turn.authError = true
	}
}

// result ends the turn and the prompt that it belongs to.
func (s *session) result(m claude.Message, p *painter) {
	s.mu.Lock()
	t := s.turn
	s.mu.Unlock()
	own := m.Get("origin").IsObject()
	answers := answeredBy(m)
	s.mu.Lock()
	named := t != nil && slices.ContainsFunc(t.ids, answers.has)
	if t != nil && own && !t.own && !named && !s.steers && m.Get("queued_turn_count").Int() == 0 {
		t.folded = m
	}
	stranger := t != nil && !named && !t.own && (own || len(answers) > 0)
	s.mu.Unlock()
	if t == nil || stranger {
		return // of a turn that the CLI began by itself, or that is over: it ends no prompt
	}
	s.usage(m, p.used)
	s.titleChanged()
	s.fastModeIs(m.Get("fast_mode_state").String(), m.Get("fast_mode_disabled_reason").String())
	if m.Get("local_command").Exists() {
		s.refresh() // it may have been /model or /effort
	}
	s.endTurn(t, p, answers, func() ending { return resultEnding(m, t) })
}

// endTurn withdraws what is still open, waits for it, and ends the prompts. With
// answers, prompts that it does not name go on: the CLI has them in its queue.
// The result and the end of the process may both call it: one of them counts.
func (s *session) endTurn(t *turn, p *painter, answers answered, how func() ending) {
	t.cancel(errTurnOver)
	t.asks.Wait()
	s.mu.Lock()
	cancelled := t.cancelled
	s.mu.Unlock()
	e := stopped(acp.StopReasonCancelled)
	if !cancelled {
		e = how()
	}
	if cancelled || e.err != nil {
		p.abandon()
	}
	p.sleep()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != t {
		return
	}
	var rest []*prompt
	if answers != nil {
		rest = t.unanswered(answers)
	}
	t.finish(e)
	s.goOn(rest)
	t.end()
}

// dropTurn ends a turn that could not be ended in order.
func (s *session) dropTurn(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.turn; t != nil {
		t.finish(ending{err: err})
		s.turn = nil
		t.end()
	}
}

// exited ends what the process leaves behind.
func (s *session) exited(p *painter, r *requests, err error) {
	if errors.Is(err, claude.ErrClosed) {
		err = context.Cause(s.ctx)
	}
	s.mu.Lock()
	t := s.turn
	s.proc = nil
	if t != nil && s.parked != nil && s.ctx.Err() == nil {
		s.dead, s.parked = err, nil
	}
	s.mu.Unlock()
	if t != nil {
		t.cancel(err)
	}
	r.abort(err)
	p.closeFollowed()
	if t != nil {
		s.endTurn(t, p, nil, func() ending { return ending{err: processError(err)} })
	}
	p.unfollow()
}
