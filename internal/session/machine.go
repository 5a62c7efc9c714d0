package session

import (
	"cmp"
	"errors"
	"slices"

	acp "github.com/coder/acp-go-sdk"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/life"
)

// State is all that a session knows of its prompts, its agent's turn and what
// the agent asks. It changes in Step and nowhere else.
type State struct {
	// PromptsOnly is set for an editor that shows nothing while none of its prompts
	// runs: what is put into the conversation then is read by nobody.
	PromptsOnly bool

	phase    phase
	line     []*prompt  // in order of arrival, until their responses are sent
	newest   int        // the key of the last prompt that came
	turn     *turn      // what the agent works on; nil when there is none
	end      *turnEnd   // how it ends, in the phase finishing
	requests []*request // in order of arrival, until the agent has its reply
	steers   bool       // the agent takes prompts while it works
	relayed  bool       // see NewRelayed
	fresh    int        // the prompt that comes in this step
	ended    *Ending    // how a turn ended in this step that nobody cancelled
	past     []*turn    // cancelled ones that a relayed agent has not ended
	// stale is set when a question in the conversation went away without a reply:
	// the user may be writing one. The next prompt that comes is not taken for the
	// reply to another question.
	stale bool
	// launching is set while a start of the agent has not returned, whatever has
	// become of the process since.
	launching bool
	// lost is how the next prompt ends: the agent's process ended while a
	// question waited for that prompt.
	lost *Ending
	// exit is how the agent's process ended last.
	exit Ending
	// why the session was closed.
	why          error
	stopped      bool // the start that is under way was given up
	interrupting int  // the interrupt that is on its way; 0 for none
	interrupts   int  // how many there were
	turns        int  // how many there were
	effects      []Effect
}

// New is the state of a session whose agent runs and works on nothing.
func New() State { return State{phase: idle} }

// Parked reports whether the next prompt answers a question in the conversation.
func (s *State) Parked() bool { return s.inState(parked) != nil }

// Unseen reports whether nobody would see what is shown now.
func (s *State) Unseen() bool {
	return s.PromptsOnly && !slices.ContainsFunc(s.line, func(p *prompt) bool { return !p.own && p.state != over })
}

// Working reports whether the agent has a turn.
func (s *State) Working() bool { return s.turn != nil }

// Owner is the prompt that the turn runs in, 0 for none, and whether that goes on: there is
// a turn, and nobody has cancelled it.
func (s *State) Owner() (prompt int, goesOn bool) {
	if s.turn == nil {
		return 0, false
	}
	return s.turn.owner, !s.turn.cancelled
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
	how       Ending
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
	// said is set if that was said in the prompt that it runs in, which no editor has cancelled.
	said bool
	// why it was cancelled is why what it asks after that is not asked.
	why error
	// perhaps is the end of a turn of the agent's own that may have been this one.
	perhaps *TurnEnded
}

// turnEnd is the end of a turn, while what was asked in it is taken back.
type turnEnd struct {
	TurnEnded
	exit     bool  // the process has ended
	why      error // if it has
	wrapping bool  // it is being drawn
	then     phase // what follows
}

// request is something that the agent waits for.
type request struct {
	key    int
	kind   Kind
	state  requestState
	turn   int  // the turn that it ends with; 0 for none
	prompt int  // the prompt that answers it while no turn runs; 0 for none
	after  int  // the newest prompt that was there before it could be read
	stood  bool // it stood in the conversation before it was hidden
	unseen bool // it stands in the conversation where nobody has read it
}

// Ending is how a prompt ends.
type Ending struct {
	Reason acp.StopReason
	Err    error
	// Working says that something of the agent goes on in the background.
	Working bool
	// waitingFor is the tool call of a question that waits for the next prompt.
	WaitingFor string
	// Usage is what the turn took, if anybody wants to know.
	Usage *acp.Usage
	// Meta is what else the response says, as JSON.
	Meta string
	// Raw is the response of a relayed agent, as it came.
	Raw string
}

var (
	EndedCancelled = Ending{Reason: acp.StopReasonCancelled}
	EndedTurn      = Ending{Reason: acp.StopReasonEndTurn}
)

// invalidParams is the code of JSON-RPC for it.
const invalidParams = -32602

var (
	// ErrGone means that the agent's process has ended.
	ErrGone = errors.New("the agent is not running")
	// ErrPartStopped is why a request of a sub-agent is taken back that the user
	// has stopped. The turn goes on.
	ErrPartStopped = errors.New("the user stopped this sub-agent")
	// ErrEmptyPrompt is the answer to a prompt with nothing in it.
	ErrEmptyPrompt = &acp.RequestError{Code: invalidParams, Message: "the prompt is empty"}

	// ErrNotAsked is why a question goes that the user has not seen, or just now,
	// because a prompt that was sent before it has its place.
	ErrNotAsked = errors.New("it was not asked, because the user had already sent another message")
	// ErrTurnOver is why a request goes with its turn, ErrWithdrawn why it goes when
	// the agent takes it back.
	ErrTurnOver        = errors.New("the agent's turn ended")
	ErrWithdrawn error = Ended{"the agent withdrew the request", life.ErrGone}
)

// ErrOtherMessage is why what the user was shown goes when they say something else.
var ErrOtherMessage error = Ended{"the user sent another message instead", convert.ErrCancelled}

// Why all that is asked goes. The kind of an error says how: so that the agent does
// not work on. Whoever closes a session has not said no to what it asks: the session
// may be opened again, and then that is found.
var (
	ErrTurnCancelled  error = Ended{"the user cancelled the turn", convert.ErrCancelled}
	ErrSessionClosed  error = Ended{"the session was closed", convert.ErrDisconnected}
	ErrSessionDeleted error = Ended{"the session was deleted", convert.ErrCancelled}
)

// Ended is an end in words, and its kind.
type Ended struct {
	Text string
	Kind error
}

func (e Ended) Error() string { return e.Text }

// Unwrap returns the kind.
func (e Ended) Unwrap() error { return e.Kind }

// maxStarts bounds how often the agent is started for one prompt.
const maxStarts = 3

// Step takes an event and says what is to be done. It does nothing itself.
func (s *State) Step(ev Event) []Effect {
	s.effects = nil
	if s.phase == closed {
		s.afterClose(ev)
		return s.effects
	}
	switch ev := ev.(type) {
	case PromptCame:
		s.promptCame(ev)
	case CancelCame:
		s.lost = nil // what was lost is not waited for any more
		s.cancelAll(cmp.Or(ev.Why, ErrTurnCancelled))
		s.letGo()
	case LeaveCame:
		s.leave(ev.Why)
	case OpenedAnew:
		s.openedAnew()
	case CloseCame:
		s.close(ev)
	case StartDone:
		s.startDone(ev)
	case SendFailed:
		s.sendFailed(ev)
	case TurnBegan:
		s.turnBegan(ev)
	case PromptBegun:
		if p := s.prompt(ev.Key); p != nil {
			p.begun = true
		}
	case PromptBack:
		s.promptBack(ev)
	case PromptTaken:
		s.promptTaken(ev.Key)
	case PromptEnded:
		s.promptEnded(ev)
	case TurnEnded:
		s.turnEnded(ev)
	case AgentIdle:
		s.agentIdle()
	case AgentExited:
		s.agentExited(ev)
	case TurnWrapped:
		s.turnWrapped(ev.GoesOn)
	case InterruptDone:
		s.interruptDone(ev)
	case InterruptUnseen:
		s.interruptUnseen(ev.N)
	case InterruptAgain:
		if s.phase == cancelling && s.turn.n == ev.Turn && s.interrupting == 0 {
			s.interrupt()
		}
	case GraceOver:
		s.graceOver(ev.Turn)
	default:
		s.stepRequest(ev)
	}
	s.wrap()
	s.advance()
	s.flush()
	if s.ended != nil && s.turn == nil && s.firstWaiting(true) == nil {
		s.do(Rest{*s.ended})
	}
	s.fresh, s.ended = 0, nil
	return s.effects
}

func (s *State) do(e Effect) { s.effects = append(s.effects, e) }

// prompt finds a prompt that has not ended.
func (s *State) prompt(key int) *prompt {
	for _, p := range s.line {
		if p.key == key && p.state != over {
			return p
		}
	}
	return nil
}

// promptCame puts a prompt in line. One that comes while the user is asked takes
// the place of what is asked.
func (s *State) promptCame(ev PromptCame) {
	p := &prompt{key: ev.Key, empty: ev.Empty, own: ev.Own}
	if ev.Own {
		s.line, s.newest = append(s.line, p), p.key
		return
	}
	p.stale = s.stale
	s.stale, s.fresh = false, p.key
	switch {
	case slices.ContainsFunc(s.requests, s.superseded):
		s.cancelPrompts()
		s.makeWay()
	case s.inState(parking) != nil, s.inState(hidden) != nil: // typed before the question was there: no answer to it
		s.makeWay()
	}
	s.line, s.newest = append(s.line, p), p.key
}

// superseded reports whether a prompt takes the place of a request. A tool's
// permission stays while a turn runs: the prompt steers that turn.
func (s *State) superseded(r *request) bool {
	return r.state == shown && (r.kind != Permission || s.turn == nil)
}

// makeWay cancels the turn for a prompt, and takes back what is asked. Only what
// the user has seen can have been dismissed with that prompt.
func (s *State) makeWay() {
	s.withdrawAll(func(r *request) error {
		if r.state == shown || r.state == heard {
			return ErrOtherMessage
		}
		return ErrNotAsked
	})
	s.cancelTurn(true, ErrNotAsked)
}

// inState finds the request that is in a state.
func (s *State) inState(in requestState) *request {
	for _, r := range s.requests {
		if r.state == in {
			return r
		}
	}
	return nil
}

// finish ends a prompt. Its response goes out behind those of earlier ones. One
// that was cancelled ends so, whatever became of it since.
func (s *State) finish(p *prompt, how Ending) {
	if p.cancelled {
		how = EndedCancelled
	}
	p.state, p.how = over, how
}

// finishAll ends those of some prompts that have not ended.
func (s *State) finishAll(keys []int, how Ending) {
	for _, key := range keys {
		if p := s.prompt(key); p != nil {
			s.finish(p, how)
		}
	}
}

// flush sends the responses whose turn it is. Those of a relayed agent come as it
// sends them.
func (s *State) flush() {
	if s.relayed {
		s.line = slices.DeleteFunc(s.line, func(p *prompt) bool {
			if p.state == over {
				s.do(Finish{p.key, p.how})
			}
			return p.state == over
		})
		return
	}
	for len(s.line) > 0 && s.line[0].state == over {
		s.do(Finish{s.line[0].key, s.line[0].how})
		s.line = s.line[1:]
	}
}

// firstWaiting is the first prompt that neither the agent nor a question has;
// without own the first that the editor sent.
func (s *State) firstWaiting(own bool) *prompt {
	for _, p := range s.line {
		if p.state == waiting && (own || !p.own) {
			return p
		}
	}
	return nil
}

// advance lets the prompts in line go as far as they can.
func (s *State) advance() {
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
			s.finish(p, EndedCancelled)
		case q != nil && p.key <= q.after: // the agent gave it back: no answer, it takes the question's place
			s.makeWay()
		case q != nil:
			s.answer(q, p)
		case s.lost != nil && !p.own:
			s.finish(p, *s.lost)
			s.lost = nil
		case p.empty:
			s.finish(p, Ending{Err: ErrEmptyPrompt})
		case !s.give(p):
			return
		}
	}
}

// give hands a prompt to the agent, or starts the agent for it. It reports false
// if the prompt has to wait.
func (s *State) give(p *prompt) bool {
	switch {
	case s.phase == down && s.launching:
		return false
	case s.phase == down && p.starts == maxStarts:
		s.finish(p, s.exit)
		return true
	case s.phase == down:
		p.starts++
		s.phase, s.launching, s.stopped = starting, true, false
		s.do(Start{})
		return false
	case s.interrupting != 0, s.owesReply(): // what comes late would hit this prompt
		return false
	case s.phase == idle:
		s.phase = sent
		s.turn = s.newTurn()
		s.turn.owner = p.key
	case s.phase == running && s.steers && s.inState(parking) == nil && s.mayJoin(p):
		s.turn.steered = append(s.turn.steered, p.key)
		s.turn.queued = true
	default:
		return false
	}
	p.state = given
	s.turn.sent = append(s.turn.sent, p.key)
	if s.relayed { // it says nothing of its beginning
		s.phase, s.turn.begun, p.begun = running, true, true
	}
	s.do(Send{p.key})
	return true
}

// owesReply reports whether the agent has not been told yet what became of a
// request: that it was taken back, or dismissed, would hit the next prompt.
func (s *State) owesReply() bool {
	return slices.ContainsFunc(s.requests, func(r *request) bool { return r.state == withdrawn || r.state == settled })
}

func (s *State) newTurn() *turn {
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
