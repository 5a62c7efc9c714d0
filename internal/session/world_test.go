package session

import (
	"errors"
	"fmt"
	"slices"
)

// A world is a session's state with all that is around it: an editor and its
// user, an agent, and the goroutines that ask. It knows what can happen next,
// does what the state calls for as far as that shows, and notes every promise
// that is broken. See walk_test.go for who goes through it.
type world struct {
	state State
	env
	wants leave
	// givenUp: a start fails that nobody waited for.
	givenUp bool
	broken  string   // the first promise that was broken
	did     []Effect // of the last move
	saw     []Event  // in the last move
}

// limits bound what comes unasked. What somebody owes always comes.
type limits struct {
	prompts, empties, cancels, closes int8
	ownTurns, deaths, refusals        int8
	goesOn                            int8 // turns whose prompt goes on
	failedStarts, failedSends         int8
	withdrawals                       int8 // requests that the agent takes back
	elsewhere                         int8 // requests that are settled at the desk
	rounds                            int8 // requests that are asked once more
	reopens                           int8 // how often the editor opens the session anew
	goOns                             int8 // requests that the prompt tells the agent which answered them
	promptsOnly                       bool // the editor shows nothing between prompts
	unseen                            int8 // interrupts that the agent does not see in time
	failures, takes, leaves           int8 // of a relayed agent and its editor
}

const (
	maxPrompts = 3
	maxAsks    = 3
)

// askPlan says what the agent asks for, in this order.
type askPlan struct {
	kind  Kind
	apart bool
}

// env is all but the state. It has no pointers: it is copied by assignment.
type env struct {
	limits
	relayed bool
	steers  bool
	plan    [maxAsks]askPlan
	plans   int8

	prompts [maxPrompts]promptView
	came    int8 // prompts so far
	asks    [maxAsks]askView
	asked   int8 // requests so far
	agent   agentView
	flights [4]flight // interrupts
	graces  [3]int    // turns whose grace runs
	agains  [3]int    // turns whose interrupt is to be repeated
	reader  reader
	closed  bool
	// perhaps: a turn of the agent's own is over that may have taken prompts along.
	perhaps bool

	// quiet: the user has broken the turn off, and it is not over. denied: they have said
	// no to what it asked, which is none to a sub-agent.
	quiet, denied bool
	// gone: a question has left the conversation without a reply, and no prompt
	// has come since.
	gone bool
	// lost: the agent died while a question waited for the next prompt.
	lost bool
	// everAsked: something was asked. Until then nothing stands between an editor and a
	// relayed agent.
	everAsked bool
}

// promptView is a prompt as those around the session know it.
type promptView struct {
	ended    bool
	empty    bool
	atAgent  bool  // the agent has it
	words    bool  // a question has it
	cancel   bool  // the user has cancelled it
	breakOff bool  // its turn was broken off
	suspect  bool  // the first one after a question went away
	lost     bool  // meant for a question whose agent has died
	died     bool  // its agent has died before it had the words
	seen     uint8 // the questions that stood in the conversation when it came
}

// askView is a request of the agent, and where the goroutine is that asks it.
type askView struct {
	askPlan
	at          place
	prompt      int8 // whose words it has
	seen        bool // the user can have seen it
	inTurn      bool // it has to be gone when the agent's turn is over
	ending      bool // that turn is over
	withdrawn   bool // the session took it back
	cancelled   bool // because the user cancelled it
	no          bool // its outcome is that the user dismissed it
	banned      bool // cancelled, or its agent is dead: it is not to be seen or answered
	dismissed   bool // the reply breaks off a turn
	stale       bool // it has words that may have been meant for another
	superseding bool // a prompt has taken its place
	stood       bool // it was readable before the session was opened anew
	unread      bool // it is readable, and the editor did not show it
}

// place says where a request is.
type place int8

const (
	nowhere   place = iota // not asked yet
	inLine                 // posted
	onScreen               // the editor shows it
	written                // it is being written into the conversation
	readable               // it stands there and waits for words
	unshown                // it was on the screen or readable before the session was opened anew
	answering              // it has words
	refused                // it may not go on
	left                   // it has an outcome, the session does not know
	done                   // the session knows, the agent does not
	replied                // the agent knows
)

// agentView is the agent and its process.
type agentView struct {
	start   int8 // 0, starts or returns
	stopped bool // the start is given up
	alive   bool
	dead    bool // and nobody has noticed
	turn    bool // it works
	own     bool // by itself
	idle    bool // it has not said yet that it works on nothing
	failing bool // the next send fails

	queue keys // prompts that it has and has not begun with
	taken keys // those of its turn
	backs keys // those that it has given up
}

const (
	starts  int8 = 1 // it is being started
	returns int8 = 2 // it runs or has run, the start has not returned
)

// flight is an interrupt that is on its way.
type flight struct {
	n         int
	all, seen bool
	old       bool // to a process that is gone
	late      bool // nobody waits for it any more
}

// reader is the goroutine that reads the agent.
type reader struct {
	at   int8
	exit bool // it has read the end of the process
}

const (
	reads int8 = iota
	waits      // it has brought the end of a turn
	draws      // it draws that end; turnWrapped follows
)

// keys are prompts in order.
type keys struct {
	n  int8
	at [maxPrompts]int8
}

func (k *keys) add(key int) { k.at[k.n], k.n = int8(key), k.n+1 }

func (k *keys) drop(key int) {
	var rest keys
	for _, other := range k.list() {
		if other != key {
			rest.add(other)
		}
	}
	*k = rest
}

func (k *keys) list() []int {
	var list []int
	for _, key := range k.at[:k.n] {
		list = append(list, int(key))
	}
	return list
}

// Requests have other keys than prompts.
const firstAsk = 11

var (
	errDied    = errors.New("the agent died")
	errNoStart = errors.New("the agent did not start")
	errUnsent  = errors.New("the prompt could not be sent")
	errRefused = errors.New("the agent refused the prompt")
	errClosed  = errors.New("the session was closed")
)

func newWorld(l limits, steers bool, plan ...askPlan) *world {
	w := &world{env: env{limits: l, steers: steers}}
	w.plans = int8(copy(w.plan[:], plan))
	w.agent.alive = true
	w.state.phase, w.state.PromptsOnly = idle, l.promptsOnly
	return w
}

func (w *world) breaks(format string, args ...any) {
	if w.broken == "" {
		w.broken = fmt.Sprintf(format, args...)
	}
}

func (w *world) prompt(key int) *promptView { return &w.prompts[key-1] }
func (w *world) ask(key int) *askView       { return &w.asks[key-firstAsk] }

// move is one thing that can happen. Owed is what comes by itself, sooner or
// later; the rest may never come.
type move struct {
	name string
	key  int // of what it is about
	owed bool
	do   func(*world)
}

// moves are all that can happen now.
func (w *world) moves() []move {
	list := w.editorMoves(nil)
	if w.relayed {
		list = w.relayedMoves(w.askingMoves(list))
	} else {
		list = w.startMoves(list)
		list = w.agentMoves(list)
		list = w.processMoves(list)
	}
	for i := range w.asks[:w.asked] {
		list = w.askMoves(list, i)
	}
	return w.clockMoves(list)
}

// What the editor and its user do.
func (w *world) editorMoves(list []move) []move {
	prompt := func(empty bool) func(*world) {
		return func(w *world) {
			w.limits.prompts--
			w.came++
			key := int(w.came)
			w.notePrompt(key, empty)
			w.step(PromptCame{Key: key, Empty: empty})
			w.checkPassed(key)
		}
	}
	if w.limits.prompts > 0 {
		list = append(list, move{"a prompt comes", 0, false, prompt(false)})
		if w.empties > 0 {
			list = append(list, move{"an empty prompt comes", 0, false, func(w *world) { w.empties--; prompt(true)(w) }})
		}
	}
	if w.cancels > 0 && !w.closed {
		list = append(list, move{"session/cancel", 0, false, func(w *world) {
			w.cancels--
			w.noteCancel()
			w.step(CancelCame{})
		}})
	}
	if w.reopens > 0 && !w.closed {
		list = append(list, move{"the session is opened anew", 0, false, func(w *world) {
			w.reopens--
			w.step(OpenedAnew{})
		}})
	}
	if w.closes > 0 {
		list = append(list, move{"the session is closed", 0, false, func(w *world) {
			w.closes--
			w.noteClose()
			w.step(CloseCame{Ending{Err: errClosed}, errClosed})
		}})
	}
	return list
}

// How a start ends.
func (w *world) startMoves(list []move) []move {
	a := w.agent
	switch a.start {
	case starts:
		list = append(list, move{"the process is up", 0, true, func(w *world) { w.agent.start, w.agent.alive = returns, true }})
		if w.failedStarts > 0 || a.stopped || w.closed {
			list = append(list, move{"the start fails", 0, a.stopped, func(w *world) {
				w.failedStarts = max(0, w.failedStarts-1)
				w.agent = agentView{}
				w.noteDeath()
				w.givenUp = a.stopped
				w.step(StartDone{&Ending{Err: errNoStart}})
				w.givenUp = false
			}})
		}
	case returns:
		list = append(list, move{"the start returns", 0, true, func(w *world) {
			w.agent.start, w.agent.stopped = 0, false
			w.step(StartDone{})
		}})
	}
	return list
}

// Clocks and interrupts.
func (w *world) clockMoves(list []move) []move {
	for i, f := range w.flights {
		switch {
		case f.n == 0:
		case !f.seen:
			if !slices.ContainsFunc(w.flights[:], func(o flight) bool { return o.late && o.n < f.n }) { // one after the other
				list = append(list, move{"the agent sees interrupt #", f.n, true, func(w *world) { w.seeInterrupt(i) }})
			}
			if w.unseen > 0 && !f.late && !f.old {
				list = append(list, move{"interrupt # is not seen in time", f.n, false, func(w *world) {
					w.unseen--
					w.flights[i].late = true
					w.step(InterruptUnseen{f.n})
				}})
			}
		case w.agent.backs.n == 0:
			list = append(list, move{"interrupt # is done", f.n, true, func(w *world) {
				w.flights[i] = flight{}
				w.step(InterruptDone{f.n})
			}})
		}
	}
	if w.closed {
		return list
	}
	for i, turn := range w.graces {
		if turn != 0 {
			list = append(list, move{"the grace of turn # is over", turn, true, func(w *world) {
				w.graces[i] = 0
				w.step(GraceOver{turn})
			}})
		}
	}
	for i, turn := range w.agains {
		if turn != 0 {
			list = append(list, move{"time to interrupt turn # again", turn, true, func(w *world) {
				w.agains[i] = 0
				w.step(InterruptAgain{turn})
			}})
		}
	}
	return list
}

func (w *world) seeInterrupt(i int) {
	f := w.flights[i]
	if w.flights[i].seen = true; f.late {
		w.flights[i] = flight{}
	}
	if !w.agent.alive || f.old {
		return
	}
	hit := keys{}
	if w.agent.turn {
		hit = w.agent.taken
	}
	if f.all {
		for _, key := range w.agent.queue.list() {
			hit.add(key)
			w.agent.backs.add(key)
		}
		w.agent.queue = keys{}
	}
	for _, key := range hit.list() {
		if p := w.prompt(key); !p.cancel && !p.breakOff {
			w.breaks("an interrupt ends nothing but what the user has broken off: it hits prompt %d", key)
		}
	}
}
