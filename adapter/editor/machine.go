package editor

import (
	"errors"
	"fmt"
	"slices"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/convert"
)

// state is all that a session knows of its prompts, its agent's turn and what
// the agent asks. It changes in step and nowhere else.
type state struct {
	phase    phase
	line     []*prompt  // in order of arrival, until their responses are sent
	newest   int        // the key of the last prompt that came
	turn     *turn      // what the agent works on; nil when there is none
	end      *turnEnd   // how it ends, in the phase finishing
	requests []*request // in order of arrival, until the agent has its reply
	steers   bool       // the agent takes prompts while it works
	// stale is set when a question in the conversation went away without a reply:
	// the user may be writing one. The next prompt that comes is not taken for the
	// reply to another question.
	stale bool
	// launching is set while a start of the agent has not returned, whatever has
	// become of the process since.
	launching bool
	// lost is how the next prompt ends: the agent's process ended while a
	// question waited for that prompt.
	lost *ending
	// exit is how the agent's process ended last.
	exit ending
	// why the session was closed.
	why          error
	stopped      bool // the start that is under way was given up
	interrupting int  // the interrupt that is on its way; 0 for none
	interrupts   int  // how many there were
	turns        int  // how many there were
	effects      []effect
}

// prompt is one session/prompt.
type prompt struct {
	key       int
	state     promptState
	empty     bool
	own       bool  // the editor did not send it
	begun     bool  // the model has seen it
	back      bool  // the agent gave it up before that
	refused   error // for good
	stale     bool  // it may have been meant for a question that was gone
	cancelled bool
	starts    int // how often the agent was started for it
	how       ending
}

// turn is one piece of work of the agent.
type turn struct {
	n       int
	own     bool // the agent began it by itself
	begun   bool // the agent works on something
	owner   int  // the prompt that it runs in; 0 for none
	steered []int
	sent    []int // every prompt that the agent got for it
	queued  bool  // the agent may have prompts in its queue
	repeat  bool  // interrupts are repeated until it ends
	// cancelled says how its prompts end, whatever the agent says.
	cancelled bool
	// perhaps is the end of a turn of the agent's own that may have been this one.
	perhaps *turnEnded
}

// turnEnd is the end of a turn, while what was asked in it is taken back.
type turnEnd struct {
	turnEnded
	exit     bool  // the process has ended
	wrapping bool  // it is being drawn
	then     phase // what follows
}

// request is something that the agent waits for.
type request struct {
	key    int
	kind   requestKind
	state  requestState
	turn   int // the turn that it ends with; 0 for none
	prompt int // the prompt that answers it while no turn runs; 0 for none
	after  int // the newest prompt that was there before it could be read
}

// ending is how a prompt ends.
type ending struct {
	reason acp.StopReason
	err    error
	// waitingFor is the tool call of a question that waits for the next prompt.
	waitingFor string
}

var (
	endedCancelled = ending{reason: acp.StopReasonCancelled}
	endedTurn      = ending{reason: acp.StopReasonEndTurn}
)

var (
	errTurnOver  = errors.New("the agent's turn ended")
	errWithdrawn = errors.New("the agent withdrew the request")
	// errWithAnother is why a request goes when the user dismisses another one.
	errWithAnother = fmt.Errorf("another request was dismissed: %w", convert.ErrCancelled)
)

// maxStarts bounds how often the agent is started for one prompt.
const maxStarts = 3

// step takes an event and says what is to be done. It does nothing itself.
func (s *state) step(ev event) []effect {
	s.effects = nil
	if s.phase == closed {
		s.afterClose(ev)
		return s.effects
	}
	switch ev := ev.(type) {
	case promptCame:
		s.promptCame(ev)
	case cancelCame:
		s.lost = nil // what was lost is not waited for any more
		if ev.why != nil {
			s.withdraw(ev.why, func(*request) bool { return true })
		}
		s.cancelAll()
	case closeCame:
		s.close(ev)
	case startDone:
		s.startDone(ev)
	case sendFailed:
		s.sendFailed(ev)
	case turnBegan:
		s.turnBegan(ev)
	case promptBegun:
		if p := s.prompt(ev.key); p != nil {
			p.begun = true
		}
	case promptBack:
		s.promptBack(ev)
	case turnEnded:
		s.turnEnded(ev)
	case agentIdle:
		s.agentIdle()
	case agentExited:
		s.agentExited(ev)
	case turnWrapped:
		s.turnWrapped()
	case interruptDone:
		s.interruptDone(ev)
	case interruptAgain:
		if s.phase == cancelling && s.turn.n == ev.turn && s.interrupting == 0 {
			s.interrupt()
		}
	case graceOver:
		if s.phase == cancelling && s.turn.n == ev.turn {
			s.phase = leaving
			s.do(kill{})
		}
	default:
		s.stepRequest(ev)
	}
	s.wrap()
	s.advance()
	s.flush()
	return s.effects
}

func (s *state) do(e effect) { s.effects = append(s.effects, e) }

// prompt finds a prompt that has not ended.
func (s *state) prompt(key int) *prompt {
	for _, p := range s.line {
		if p.key == key && p.state != over {
			return p
		}
	}
	return nil
}

// promptCame puts a prompt in line. One that comes while the user is asked takes
// the place of what is asked.
func (s *state) promptCame(ev promptCame) {
	p := &prompt{key: ev.key, empty: ev.empty, own: ev.own}
	if ev.own {
		s.line, s.newest = append(s.line, p), p.key
		return
	}
	p.stale = s.stale
	s.stale = false
	switch r := s.inState(parking); {
	case slices.ContainsFunc(s.requests, s.superseded):
		s.cancelAll()
	case r != nil: // typed before the question was there: no answer to it
		s.cancelTurn(s.workGoesOn(r))
	}
	s.line, s.newest = append(s.line, p), p.key
}

// superseded reports whether a prompt takes the place of a request. A tool's
// permission stays while a turn runs: the prompt steers that turn.
func (s *state) superseded(r *request) bool {
	return r.state == shown && (r.kind != permission || s.turn == nil)
}

// workGoesOn reports whether the agent works on when a request is taken back. A
// question of the turn ends it; a form does not, nor does what was asked apart.
func (s *state) workGoesOn(r *request) bool {
	return r.kind == form || s.turn != nil && r.turn != s.turn.n
}

// inState finds the request that is in a state.
func (s *state) inState(in requestState) *request {
	for _, r := range s.requests {
		if r.state == in {
			return r
		}
	}
	return nil
}

// cancelAll cancels the turn, what is asked, and every prompt whose response is
// not out.
func (s *state) cancelAll() {
	for _, p := range s.line {
		p.cancelled = true
		if p.state != given {
			s.finish(p, endedCancelled)
		}
	}
	switch s.phase {
	case starting:
		s.stopped = true
		s.do(stopStart{})
	case finishing:
		if s.turn != nil { // it has ended, its prompts have not
			s.turn.cancelled = true
		}
	}
	s.cancelTurn(true)
}

// cancelTurn cancels the turn, if there is one, and takes back all that is
// asked, sub-agents' requests too. Without tell a reply tells the agent.
func (s *state) cancelTurn(tell bool) {
	cancels := s.phase == sent || s.phase == running
	if cancels {
		s.phase = cancelling
		s.turn.cancelled, s.turn.repeat = true, tell
	}
	s.withdraw(convert.ErrCancelled, func(*request) bool { return true })
	if cancels && tell && s.interrupting == 0 { // else that one is repeated
		s.interrupt()
	}
	if cancels {
		s.do(startGrace{s.turn.n})
	}
}

func (s *state) interrupt() {
	s.interrupts++
	s.interrupting = s.interrupts
	s.do(interrupt{s.interrupting, s.turn.queued})
}

func (s *state) interruptDone(ev interruptDone) {
	if s.interrupting == ev.n {
		s.interrupting = 0
	}
	if s.phase == cancelling && s.interrupting == 0 && s.turn.repeat {
		s.do(repeatSoon{s.turn.n})
	}
}

// finish ends a prompt. Its response goes out behind those of earlier ones. One
// that was cancelled ends so, whatever became of it since.
func (s *state) finish(p *prompt, how ending) {
	if p.cancelled {
		how = endedCancelled
	}
	p.state, p.how = over, how
}

// finishAll ends those of some prompts that have not ended.
func (s *state) finishAll(keys []int, how ending) {
	for _, key := range keys {
		if p := s.prompt(key); p != nil {
			s.finish(p, how)
		}
	}
}

// flush sends the responses whose turn it is.
func (s *state) flush() {
	for len(s.line) > 0 && s.line[0].state == over {
		s.do(finish{s.line[0].key, s.line[0].how})
		s.line = s.line[1:]
	}
}

// firstWaiting is the first prompt that neither the agent nor a question has;
// without own the first that the editor sent.
func (s *state) firstWaiting(own bool) *prompt {
	for _, p := range s.line {
		if p.state == waiting && (own || !p.own) {
			return p
		}
	}
	return nil
}

// advance lets the prompts in line go as far as they can.
func (s *state) advance() {
	for p := s.firstWaiting(true); p != nil; p = s.firstWaiting(true) {
		q := s.inState(parked)
		if p.own && !p.cancelled && q != nil { // no answer: what the editor sent may be
			if s.give(p) {
				continue
			}
			if p = s.firstWaiting(false); p == nil {
				return
			}
		}
		switch {
		case p.cancelled:
			s.finish(p, endedCancelled)
		case q != nil && p.key <= q.after: // the agent gave it back: no answer, it takes the question's place
			s.cancelTurn(s.workGoesOn(q))
		case q != nil:
			s.answer(q, p)
		case s.lost != nil && !p.own:
			s.finish(p, *s.lost)
			s.lost = nil
		case p.empty:
			s.finish(p, ending{err: errEmptyPrompt})
		case !s.give(p):
			return
		}
	}
}

// give hands a prompt to the agent, or starts the agent for it. It reports false
// if the prompt has to wait.
func (s *state) give(p *prompt) bool {
	switch {
	case s.phase == down && s.launching:
		return false
	case s.phase == down && p.starts == maxStarts:
		s.finish(p, s.exit)
		return true
	case s.phase == down:
		p.starts++
		s.phase, s.launching, s.stopped = starting, true, false
		s.do(start{})
		return false
	case s.interrupting != 0, s.owesReply(): // what comes late would hit this prompt
		return false
	case s.phase == idle:
		s.phase = sent
		s.turn = s.newTurn()
		s.turn.owner = p.key
	case s.phase == running && s.steers && s.inState(parking) == nil:
		s.turn.steered = append(s.turn.steered, p.key)
		s.turn.queued = true
	default:
		return false
	}
	p.state = given
	s.turn.sent = append(s.turn.sent, p.key)
	s.do(send{p.key})
	return true
}

// owesReply reports whether the agent has not been told yet what became of a
// request: that it was taken back, or dismissed, would hit the next prompt.
func (s *state) owesReply() bool {
	return slices.ContainsFunc(s.requests, func(r *request) bool { return r.state == withdrawn || r.state == settled })
}

func (s *state) newTurn() *turn {
	s.turns++
	return &turn{n: s.turns}
}

// inPrompt reports whether the editor sees the turn as that of a prompt.
func (t *turn) inPrompt() bool { return t != nil && (t.owner != 0 || len(t.steered) > 0) }

// prompts are those that wait for the turn, in order.
func (t *turn) prompts() []int {
	if t.owner == 0 {
		return t.steered
	}
	return append([]int{t.owner}, t.steered...)
}

// close ends the session.
func (s *state) close(ev closeCame) {
	how := ev.how
	s.withdraw(ev.why, func(*request) bool { return true })
	for _, p := range s.line {
		if p.state != over {
			s.finish(p, how)
		}
	}
	if s.phase == starting {
		s.do(stopStart{})
	}
	if s.end != nil && !s.end.wrapping {
		s.do(wrapUp{true})
	}
	s.phase, s.turn, s.end = closed, nil, nil
	s.lost, s.why = &how, ev.why
	s.flush()
}

// afterClose refuses what comes too late, so that nobody waits for it.
func (s *state) afterClose(ev event) {
	switch ev := ev.(type) {
	case promptCame:
		s.do(finish{ev.key, *s.lost})
	case turnEnded, agentIdle:
		s.do(passOver{})
	case agentExited:
		s.do(wrapUp{true})
	case requestCame, requestShown, requestParks, requestParked, requestWithdrawn, partStopped, requestSettled, requestReplied:
		s.stepRequest(ev)
	}
}
