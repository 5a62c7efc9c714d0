package session

import (
	"errors"
	"fmt"
	"slices"

	"github.com/acp-bridge/acp-bridge/convert"
)

// The promises of a session, and how a world sees that one is broken.

// step brings an event and does what follows, as [Session.apply] does.
func (w *world) step(ev Event) {
	before := w.turnNumber()
	for queue := []Event{ev}; len(queue) > 0 && w.broken == ""; queue = queue[1:] {
		effects := w.state.Step(queue[0])
		w.saw = append(w.saw, queue[0])
		w.did = append(w.did, effects...)
		for _, e := range effects {
			if next := w.perform(queue[0], e); next != nil {
				queue = append(queue, next)
			}
		}
		w.checkAfter(queue[0])
	}
	w.settleQuiet()
	w.noteTurn(before)
}

// perform does what the state calls for.
func (w *world) perform(ev Event, e Effect) Event {
	switch e := e.(type) {
	case Start:
		w.starts()
	case StopStart:
		if w.agent.start == 0 {
			w.breaks("a start is given up only while there is one")
		}
		w.agent.stopped = true
	case Send:
		return w.sends(e.Key)
	case Interrupt:
		if w.relayed {
			return w.tells(e)
		}
		w.interrupts(e)
	case GiveUp, TakeBack:
		w.lets(e)
	case StartGrace:
		put(w, &w.graces, e.Turn)
	case RepeatSoon:
		put(w, &w.agains, e.Turn)
	case Kill:
		if w.agent.start == 0 && !w.agent.alive && !w.agent.dead {
			w.breaks("a dead agent is not killed")
		}
		if w.agent.alive {
			w.die()
		}
	case Finish:
		w.finishes(ev, e)
	case Post:
		if _, ok := ev.(RequestCame); !ok {
			w.breaks("a request takes its place when it comes")
		}
	case Admit:
		w.admits(e)
	case Hear:
		w.hears(e)
	case Withdraw:
		w.withdraws(ev, e)
	case ShowAgain:
		w.hides(e.Key)
	case WrapUp, PassOver:
		if w.relayed {
			return w.endsRelayed(e)
		}
		w.wraps(e)
	case Rest:
		if w.state.turn != nil || e.How.WaitingFor != "" || e.How.Reason == EndedCancelled.Reason {
			w.breaks("an agent rests that has nothing to do, and was not stopped")
		}
	default:
		w.breaks("unknown effect %T", e)
	}
	return nil
}

// put starts a clock for the turn that is. Of those for turns that were, one is
// enough: they are all the same.
func put(w *world, clocks *[3]int, turn int) {
	var kept [3]int
	n := 0
	for _, other := range clocks {
		if other == turn || other != 0 && n == 0 {
			kept[n], n = other, n+1
		}
	}
	if n == 3 {
		w.breaks("clocks pile up")
		return
	}
	kept[n] = turn
	*clocks = kept
}

// A start comes when there is no process and none is on its way.
func (w *world) starts() {
	a := &w.agent
	switch {
	case w.closed:
		w.breaks("a closed session starts nothing")
	case a.start != 0 || a.alive || a.dead:
		w.breaks("an agent is started only when there is none")
	}
	a.start, a.stopped = starts, false
}

// A prompt goes to a living agent, once, and not while something is on its way
// that would hit it.
func (w *world) sends(key int) Event {
	p, a := w.prompt(key), &w.agent
	switch {
	case w.closed:
		w.breaks("a closed session sends nothing")
	case a.start != 0 || !a.alive && !a.dead:
		w.breaks("a dead agent gets nothing: prompt %d is sent", key)
	case p.ended, p.atAgent, p.words:
		w.breaks("prompt %d is sent, but it has ended, or the agent or a question has it", key)
	case p.empty:
		w.breaks("prompt %d has nothing in it, and is sent", key)
	case p.lost:
		w.breaks("prompt %d was meant for a question whose agent has died, and is sent", key)
	case p.cancel:
		w.breaks("prompt %d was cancelled, and is sent", key)
	}
	for _, f := range w.flights {
		if f.n != 0 && !f.old {
			w.breaks("prompt %d is sent while interrupt %d is on its way", key, f.n)
		}
	}
	for i, r := range w.asks[:w.asked] {
		if r.withdrawn && r.at < replied || r.dismissed && r.at == done {
			w.breaks("prompt %d is sent before the agent knows that request %d was taken back", key, firstAsk+i)
		}
		if r.at == readable && !r.withdrawn {
			w.breaks("prompt %d is sent while question %d waits for it", key, firstAsk+i)
		}
	}
	failed := SendFailed{Key: key, Gone: a.dead, How: Ending{Err: errUnsent}}
	if a.dead || a.failing {
		a.failing = false
		return failed
	}
	p.atAgent = true
	a.queue.add(key)
	return nil
}

func (w *world) interrupts(e Interrupt) {
	a := w.agent
	if w.closed || a.start != 0 || !a.alive && !a.dead {
		w.breaks("a dead agent gets nothing: interrupt %d", e.N)
	}
	for i, f := range w.flights {
		if f.n == 0 {
			w.flights[i] = flight{n: e.N, all: e.All, old: a.dead}
			return
		}
	}
	w.breaks("interrupts pile up")
}

// Prompts end once, in order, and as they should.
func (w *world) finishes(ev Event, e Finish) {
	p := w.prompt(e.Key)
	if p.ended {
		w.breaks("prompt %d ends twice", e.Key)
	}
	for i := range w.prompts[:e.Key-1] {
		if !w.prompts[i].ended && !w.relayed {
			w.breaks("prompt %d ends before prompt %d", e.Key, i+1)
		}
	}
	cancelled := e.How == EndedCancelled
	switch {
	case w.closed:
	case p.lost && !errors.Is(e.How.Err, errDied) && !errors.Is(e.How.Err, errNoStart):
		w.breaks("prompt %d was meant for a question whose agent has died: it ends with that error, not %v", e.Key, e.How)
	case w.givenUp && e.How.Err == errNoStart && !p.lost && !p.died:
		w.breaks("prompt %d ends with a start that was given up before it came", e.Key)
	case p.died && e.How.Err == nil && !cancelled:
		w.breaks("the agent died before it had the words of prompt %d, which ends with %v", e.Key, e.How)
	case p.cancel && !cancelled && e.How.Raw == "":
		w.breaks("prompt %d was cancelled and ends so, not %v", e.Key, e.How)
	case cancelled && !p.cancel && !p.breakOff:
		w.breaks("nobody has cancelled prompt %d, and it ends so", e.Key)
	}
	if _, wrapped := ev.(TurnWrapped); wrapped && e.How.WaitingFor == "" {
		for i, r := range w.asks[:w.asked] {
			if r.ending && r.at != replied {
				w.breaks("prompt %d ends before request %d of its turn is gone", e.Key, firstAsk+i)
			}
		}
	}
	p.ended, p.words = true, false
	for i := range w.asks {
		if w.asks[i].prompt == int8(e.Key) {
			w.asks[i].prompt = 0
		}
	}
}

// Nothing that is over is shown or put into the conversation.
func (w *world) admits(e Admit) {
	if w.wants.key != e.Key {
		w.breaks("nobody waits to go on with request %d", e.Key)
		return
	}
	w.wants.answers++
	if !e.OK {
		return
	}
	r := w.ask(e.Key)
	switch {
	case r.banned, w.closed:
		w.breaks("request %d was cancelled or its agent is dead, and it goes on", e.Key)
	case r.withdrawn:
		w.breaks("request %d was taken back, and it goes on", e.Key)
	case (w.quiet || w.denied && r.inTurn) && !w.relayed: // a relayed agent may have a turn beside the cancelled one
		w.breaks("nothing is asked after a cancel: request %d goes on", e.Key)
	}
	r.at = w.wants.to
	r.seen = r.seen || r.at == onScreen || r.at == readable
	r.unread = w.promptsOnly && !slices.ContainsFunc(w.prompts[:w.came], func(p promptView) bool { return !p.ended })
}

// Words go to a question that can be read, if they were written after it, and
// are its answer if no other went away before they came.
func (w *world) hears(e Hear) {
	r, p := w.ask(e.Key), w.prompt(e.Prompt)
	switch {
	case r.at == left && !r.withdrawn: // nobody hears it
	case r.banned, r.withdrawn, w.closed:
		w.breaks("question %d is gone, and prompt %d answers it", e.Key, e.Prompt)
	case r.at != readable:
		w.breaks("question %d cannot be read, and prompt %d answers it", e.Key, e.Prompt)
	case p.ended, p.atAgent, p.words, p.cancel:
		w.breaks("prompt %d answers question %d, but is the agent's or has ended", e.Prompt, e.Key)
	case p.lost:
		w.breaks("prompt %d was meant for a question whose agent has died, and answers %d", e.Prompt, e.Key)
	case p.seen&(1<<(e.Key-firstAsk)) == 0:
		w.breaks("prompt %d came before question %d was there, and answers it", e.Prompt, e.Key)
	case (p.suspect || r.unread) && !e.Stale:
		w.breaks("prompt %d may have been meant for a question that is gone, or for none, and answers %d", e.Prompt, e.Key)
	case !p.suspect && !r.unread && e.Stale:
		w.breaks("prompt %d is the answer to %d, and is not taken for it", e.Prompt, e.Key)
	}
	p.words, r.prompt = true, int8(e.Prompt)
	if r.at == readable {
		r.at, r.stale = answering, e.Stale
	}
}

// What is shown again was shown. The session may not know yet that it has its
// outcome.
func (w *world) hides(key int) {
	r := w.ask(key)
	if r.at == left && !r.withdrawn {
		return
	}
	if r.withdrawn || r.at != onScreen && r.at != readable {
		w.breaks("request %d is not shown, and is to be shown again", key)
		return
	}
	r.stood, r.at, r.seen = r.at == readable, unshown, false
}

// A request is taken back once, and for a reason.
func (w *world) withdraws(ev Event, e Withdraw) {
	r := w.ask(e.Key)
	if r.withdrawn || r.at == nowhere || r.at >= done {
		w.breaks("request %d is taken back, but it is not asked any more", e.Key)
	}
	switch ev.(type) {
	case PromptCame, RequestParks, RequestParked, PromptBack:
		if !r.seen && errors.Is(e.Why, convert.ErrCancelled) {
			w.breaks("request %d was never shown, and is told as cancelled by the user", e.Key)
		}
	case RequestCame:
		if w.relayed && !w.closed && !w.brokenOff() {
			w.breaks("request %d is taken back as it comes, and the agent has nothing that was broken off", e.Key)
		}
	case TurnEnded, AgentIdle:
		if !r.inTurn {
			w.breaks("request %d outlives the turn, and is taken back with it", e.Key)
		}
	}
	w.noteGone(e.Key - firstAsk)
	r.withdrawn, r.cancelled = true, errors.Is(e.Why, convert.ErrCancelled)
}

// Who brings the end of a turn is answered once, and draws it when nothing of
// the turn is asked any more.
func (w *world) wraps(e Effect) {
	if w.reader.at != waits {
		w.breaks("%T for nobody who waits for it", e)
		return
	}
	_, wraps := e.(WrapUp)
	for i := range w.asks[:w.asked] {
		r := &w.asks[i]
		if wraps && !w.closed && r.at != replied && (r.ending || w.reader.exit) {
			w.breaks("the end is drawn while request %d is asked", firstAsk+i)
		}
		r.inTurn = r.inTurn && (!wraps || !r.ending)
		r.ending = r.ending && wraps
	}
	if wraps {
		w.reader.at = draws
	} else {
		w.reader = reader{}
	}
}

// checkAfter is for what must be true when all effects of an event are done.
func (w *world) checkAfter(ev Event) {
	switch ev.(type) {
	case CancelCame, CloseCame, AgentExited:
		for i, r := range w.asks[:w.asked] {
			if r.at < left && !r.withdrawn {
				w.breaks("after %T request %d stays open", ev, firstAsk+i)
			}
		}
	}
	for i, r := range w.asks[:w.asked] {
		if _, anew := ev.(OpenedAnew); anew && !r.withdrawn && (r.at == onScreen || r.at == readable) {
			w.breaks("the session is opened anew, and request %d is taken for shown", firstAsk+i)
		}
		if r.superseded() {
			w.breaks("the prompt takes the place of request %d, which stays open", firstAsk+i)
		}
	}
	if w.state.phase == idle && !w.relayed && (w.agent.turn || w.agent.queue.n+w.agent.taken.n+w.agent.backs.n > 0) {
		w.breaks("the agent works, and the session takes it for idle")
	}
}

// checkRest is for what must be true when everything has come that is owed.
func (w *world) checkRest() {
	for i, p := range w.prompts[:w.came] {
		if !p.ended {
			w.breaks("nothing is owed any more, and prompt %d waits", i+1)
		}
	}
	for i, r := range w.asks[:w.asked] {
		queues := r.at == inLine && !w.first(i)
		if r.at != replied && (!queues && r.at != readable || r.withdrawn) {
			w.breaks("nothing is owed any more, and request %d is left", firstAsk+i)
		}
	}
	if w.reader.at != reads {
		w.breaks("nothing is owed any more, and the end of a turn is not drawn")
	}
	up := w.agent.alive || w.agent.dead
	want := map[bool]phase{true: idle, false: down}[up]
	if w.closed {
		want = closed
	}
	if w.state.phase != want {
		w.breaks("nothing is owed any more, and the session is %v, not %v", w.state.phase, want)
	}
	if len(w.state.past) > 0 {
		w.breaks("nothing is owed any more, and a cancelled turn is remembered")
	}
	if len(w.state.line) > 0 {
		w.breaks("nothing is owed any more, and the line is not empty: %v", fmt.Sprint(w.state.line))
	}
}
