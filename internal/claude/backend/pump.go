package backend

import (
	"cmp"
	"context"
	"errors"
	"os"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/adapter/editor"
	"github.com/acp-bridge/acp-bridge/internal/claude"
	"github.com/acp-bridge/acp-bridge/internal/conn"
)

// pump is what reads one process of the CLI. Its messages are handled on one
// lane, in order: there alone the turn's updates are sent and turns are ended, so
// that nothing of a turn comes after its prompt's response.
type pump struct {
	s    *conversation
	lane *conn.Lane[func()]
	proc *claude.Process // set before anything is handled
	// toClear is what to do when the turn is over that is broken off for it.
	toClear atomic.Pointer[clearing]

	// Of the lane.
	painter *painter
	steers  bool // the CLI says what becomes of prompts that it gets while it works
	working bool // something goes on in the background
	opened  bool
	auto    autoMode
	blocks  blocks
	asks    []inLine
	knows   map[string]object // what the CLI is asked for beside them
	// early is what the CLI says before its session is open, whatever it is: until
	// then the editor does not know the session, launch has not noted what the CLI
	// can do, and a transcript may still be replayed.
	early []claude.Message
}

func newPump(s *conversation) *pump {
	p := &pump{s: s, blocks: blocks{}, lane: conn.FuncLane(), painter: newPainter(s)}
	p.knows = map[string]object{contextUsage: {"detail": "summary"}, costUsage: {"skip_behaviors": true}}
	p.painter.output = func(task, session string) (*os.File, error) {
		return claude.OpenOutput(s.agent.environ(s.env), slices.Compact([]string{session, s.cliID(), s.id}), task)
	}
	p.painter.every = p.every
	return p
}

// message takes a message of the CLI, on the goroutine that reads it. That the CLI is
// not read on while that waits for the lane is how a slow editor slows it down.
func (p *pump) message(m claude.Message) {
	p.lane.Enter()
	defer p.lane.Leave()
	if !p.opened {
		p.early = append(p.early, m)
		return
	}
	p.handle(m)
}

// open lets messages through, first those that came early. It does not wait.
func (p *pump) open() { p.asReader(p.openNow) }

// asReader has f run on the lane, in the place of the reader: a panic ends the process. It
// does not wait.
func (p *pump) asReader(f func()) {
	p.lane.Post(func() {
		if !p.guarded(f) {
			p.proc.Kill()
		}
	})
}

func (p *pump) openNow() {
	early := p.early
	p.opened, p.early = true, nil
	for _, m := range early {
		p.handle(m)
	}
	p.s.out.Flush() // the reader may have nothing more to read
}

// post has f run on the lane. It does not wait.
func (p *pump) post(f func()) { p.lane.Post(func() { p.guarded(f) }) }

// guarded runs f, and reports whether it came to its end: a panic is that of one session.
func (p *pump) guarded(f func()) (ok bool) {
	defer func() {
		if v := recover(); v != nil {
			p.s.agent.log.Error("a session's code panicked", "session", p.s.id, "panic", v, "stack", string(debug.Stack()))
		}
	}()
	f()
	return true
}

// every runs look on the lane from time to time, until the session ends or stop is
// called, and then over, elsewhere.
func (p *pump) every(look, over func()) (stop func()) {
	ctx, stop := context.WithCancel(p.s.ctx)
	go func() {
		defer over()
		defer stop()
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		looked := make(chan bool, 1)
		for {
			p.lane.Post(func() { looked <- p.guarded(look) })
			if !<-looked {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return stop
}

// reply answers a request of the CLI, and reports whether it was sent.
func (p *pump) reply(id string, result any) (sent bool) {
	if err := p.proc.Reply(id, result); err != nil {
		p.s.agent.log.Debug("reply not sent", "session", p.s.id, "err", err)
		return false
	}
	return true
}

// drain waits for the end of the process and ends what it leaves behind.
func (p *pump) drain(drained chan struct{}) {
	defer close(drained)
	err := p.proc.Wait(context.Background())
	if errors.Is(err, claude.ErrClosed) {
		err = cmp.Or(context.Cause(p.s.ctx), editor.ErrSessionClosed)
	}
	p.s.running.Store(nil)
	p.lane.Enter()
	defer p.lane.Leave()
	p.guarded(func() {
		p.openNow() // nothing of it comes behind its end
		p.asks = nil
		p.s.out.Exited(processError(err), func(cancelled bool) {
			if c := cmp.Or(p.s.clearing.Swap(nil), p.toClear.Load()); c != nil {
				p.s.tellCleared(c)
			}
			if !cancelled && p.s.ctx.Err() == nil {
				p.s.warn("gone", processError(err).Message, "error")
			}
			p.report(nil, unreported(cancelled, true))
			p.painter.compactionOver(true)
			p.painter.closeFollowed()
			p.painter.abandon()
			p.painter.endParts(nil)
			p.painter.quiet = true
			p.painter.unfollow()
		})
	})
}

func (p *pump) handle(m claude.Message) {
	switch m.Type {
	case claude.TypeStreamEvent:
		p.painter.event(m)
		p.verdicts(m)
	case claude.TypeAssistant:
		p.noteFailure(m)
		p.whole(m)
		p.painter.assistant(m)
	case claude.TypeUser:
		p.painter.user(m)
	case claude.TypeControlRequest:
		switch m.Subtype {
		case hookCallback:
			p.hook(m)
		case claude.Elicitation:
			p.form(m)
		case claude.UserDialog:
			p.dialog(m)
		default:
			p.ask(m.ToolRequest())
		}
	case claude.TypeControlCancel:
		p.painter.partForgets(m.RequestID())
		p.auto.held = slices.DeleteFunc(p.auto.held, func(held claude.Message) bool { return held.RequestID() == m.RequestID() })
		p.asks = slices.DeleteFunc(p.asks, func(a inLine) bool { return a.request == m.RequestID() })
		p.s.out.Withdraw(m.RequestID())
	case claude.TypeSystem:
		p.system(m)
	case claude.TypeResult:
		p.result(m)
	case "command_lifecycle":
		p.promptChanged(m)
	}
}

func (p *pump) system(m claude.Message) {
	switch m.Subtype {
	case "init":
		p.s.goesBy(m.SessionID())
		if c := p.s.clearing.Load(); c != nil && c.clear {
			p.s.clearing.Store(nil) // the plan has begun
		}
		p.steers = canSteer(m)
		p.s.out.Began(p.steers && !p.s.follows())
		p.painter.quiet = false
		p.s.tellLeft()
		p.s.modeChanged(m.Get("permissionMode").String())
	case "api_retry":
		p.s.retries(m)
	case "compact_boundary":
		p.painter.boundary(m)
	case "status":
		p.painter.status(m)
		p.s.modeChanged(m.Get("permissionMode").String())
	case "elicitation_complete":
		p.s.formComplete(m)
	case "task_started":
		switch m.Get("task_type").Str {
		case "local_bash":
			p.painter.follow(m)
		case "local_agent":
			p.painter.agentStarted(m)
		}
	case "task_notification":
		p.painter.agentEnded(m)
		p.painter.taskEnded(m.Get("task_id").Str, m.Get("status").String())
	case "background_tasks_changed": // all that there are now
		p.working = slices.ContainsFunc(m.Get("tasks").Array(), func(t gjson.Result) bool { return !t.Get("ambient").Bool() })
	case "session_state_changed":
		if m.Get("state").Str == "idle" {
			p.s.out.Idle(p.wrapUp)
		}
	}
}

// result ends the turn and the prompts that it belongs to.
func (p *pump) result(m claude.Message) {
	p.s.goesBy(m.SessionID())
	p.judged()
	clear(p.blocks)
	p.askAll(nil) // they belong to the turn
	end := p.s.resultEnd(m)
	end.Prompts, end.Usage = answeredBy(m), p.s.turnUsage(m)
	end.Own, end.Working = m.Get("origin").IsObject(), p.working
	failed := end.Err != nil
	p.s.forFailure(&end, cmp.Or(p.s.apiError, m.Subtype))
	c, next := p.s.clearing.Load(), p.toClear.Load()
	if c != nil && !end.Own && end.Reason == acp.StopReasonEndTurn {
		goesOn := p.s.follows()
		if c.clear, c.prompt = true, c.plan; goesOn {
			p.cleared(c)
			return
		}
	}
	if next != nil {
		end.Then, end.Reason = next, acp.StopReasonEndTurn // nobody has cancelled it
	}
	// A CLI that does not say which prompts it answers may have taken the one
	// that waits into a turn of its own. It is idle then, and not before.
	end.Perhaps = end.Own && !p.steers && m.Get("queued_turn_count").Int() == 0
	p.s.out.EndTurn(end, func(cancelled bool) {
		p.toClear.Store(nil)
		switch {
		case c != nil, next != nil && cancelled:
			p.s.clearing.CompareAndSwap(c, nil)
			p.s.tellCleared(cmp.Or(c, next))
		case next != nil:
			p.painter.planEnds(next.call)
		}
		p.s.usage(m, p.painter.used)
		p.s.titleChanged()
		p.s.fastModeIs(m.Get("fast_mode_state").String(), m.Get("fast_mode_disabled_reason").String())
		if m.Get("local_command").Exists() {
			p.s.refresh() // it may have been /model or /effort
		}
		p.s.authSeen(end)
		if cancelled { // those that were in the queue have ended, too
			end.Prompts = nil
		}
		p.report(end.Prompts, unreported(cancelled || next != nil, failed)) // what is edited later is not known yet
		p.wrapUp(cancelled || failed || next != nil)
	})
}

// wrapUp draws the end of a turn. Calls of one that was broken off get no result
// any more.
func (p *pump) wrapUp(brokenOff bool) {
	p.painter.compactionOver(true)
	p.s.badLogin, p.s.apiError = false, ""
	if brokenOff {
		p.painter.abandon()
	}
	p.painter.quiet = true
}
