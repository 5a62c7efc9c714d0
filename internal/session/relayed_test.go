package session

import (
	"fmt"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
)

// The world of a relayed agent: the same people and promises, and an agent that
// says no more than how each of its prompts ends, in any order.

func newRelayedWorld(l limits, plan ...askPlan) *world {
	w := newWorld(l, true, plan...)
	w.relayed = true
	w.state = NewRelayed()
	return w
}

// What a relayed agent does, and its editor besides.
func (w *world) relayedMoves(list []move) []move {
	for _, key := range w.agent.queue.list() {
		list = append(list, move{"the agent ends prompt #", key, true, func(w *world) { w.endPrompt(key, nil) }})
		if w.failures > 0 {
			list = append(list, move{"the agent fails with prompt #", key, false, func(w *world) {
				w.failures--
				w.endPrompt(key, errDied)
			}})
		}
	}
	if w.leaves > 0 && !w.closed {
		list = append(list, move{"the editor is about to close the session", 0, false, func(w *world) {
			w.leaves--
			w.lost = false
			for i := range w.prompts {
				w.prompts[i].breakOff = true
			}
			for i := range w.asks[:w.asked] {
				w.asks[i].banned = true
			}
			w.step(LeaveCame{errClosed})
		}})
	}
	for i, p := range w.prompts[:w.came] {
		if w.takes > 0 && !p.ended {
			list = append(list, move{"the editor takes back prompt #", i + 1, false, func(w *world) {
				w.takes--
				w.prompts[i].breakOff = true
				w.step(PromptTaken{i + 1})
			}})
		}
	}
	return list
}

func (w *world) endPrompt(key int, err error) {
	w.agent.queue.drop(key)
	w.prompt(key).atAgent = false
	if t := w.state.turnOf(key); t != nil && t == w.state.turn && len(t.sent) == 1 {
		w.noteEnd()
		if err != nil && !t.inPrompt() && !t.cancelled {
			w.noteLost()
		}
	}
	w.step(PromptEnded{key, Ending{Reason: acp.StopReasonMaxTokens, Err: err, Raw: fmt.Sprint("end of ", key)}})
}

// noteLost notes that the first prompt that the agent does not have ends with the
// agent's error: the user may have meant it as an answer.
func (w *world) noteLost() {
	for i := range w.asks[:w.asked] {
		r := &w.asks[i]
		r.banned = r.banned || r.at < done
	}
	for i := range w.prompts[:w.came] {
		if p := &w.prompts[i]; !p.ended && !p.atAgent && !p.words && !p.cancel {
			p.lost = true
			return
		}
	}
	w.lost = !w.closed
}

// tells lets the agent know that the user has broken off its turn.
func (w *world) tells(e Interrupt) Event {
	for _, key := range w.agent.queue.list() {
		if p := w.prompt(key); !p.cancel && !p.breakOff && !p.ended {
			w.breaks("a cancel ends nothing but what the user has broken off: it hits prompt %d", key)
		}
	}
	return InterruptDone{e.N}
}

func (w *world) lets(e Effect) {
	if e, ok := e.(TakeBack); ok && !w.prompt(e.Key).atAgent {
		w.breaks("the agent does not have prompt %d, which it is told to give up", e.Key)
	}
}

// endsRelayed is the end of a turn: nothing of it is asked any more.
func (w *world) endsRelayed(e Effect) Event {
	if _, ok := e.(WrapUp); !ok {
		return nil
	}
	for i := range w.asks[:w.asked] {
		r := &w.asks[i]
		if !w.closed && r.at != replied && r.ending {
			w.breaks("the turn ends while request %d is asked", firstAsk+i)
		}
		r.inTurn, r.ending = r.inTurn && !r.ending, false
	}
	return TurnWrapped{}
}

// quietRelayed reports whether the agent has nothing but what the user has broken
// off.
func (w *world) quietRelayed() bool {
	quiet := false
	for _, p := range w.prompts {
		if p.atAgent && !p.cancel {
			return false
		}
		quiet = quiet || p.atAgent && !p.ended
	}
	return quiet
}

// brokenOff reports whether the agent has something that the user has broken off.
func (w *world) brokenOff() bool {
	for _, p := range w.prompts {
		if p.atAgent && (p.cancel || p.breakOff) {
			return true
		}
	}
	return false
}

// checkPassed is the promise of a proxy: until something is asked, a prompt goes on
// to the agent at once.
func (w *world) checkPassed(key int) {
	if w.relayed && !w.everAsked && !w.closed && !w.prompt(key).atAgent {
		w.breaks("nothing was asked, and prompt %d does not go on to the agent", key)
	}
}

// TestWalkRelayed is TestWalk for an agent that somebody else runs.
func TestWalkRelayed(t *testing.T) {
	collectLess(t)
	apart := func(p askPlan) askPlan { p.apart = true; return p }
	q, f := askPlan{kind: Question}, askPlan{kind: Form}
	for _, sc := range []struct {
		name string
		limits
		plan []askPlan
	}{
		{"prompts", limits{prompts: 3, cancels: 2, takes: 1, failures: 1}, nil},
		{"closing", limits{prompts: 2, leaves: 1, closes: 1, cancels: 1}, []askPlan{q}},
		{"a question", limits{prompts: 3, cancels: 1, withdrawals: 1}.otherwise(limits{prompts: 2, cancels: 1, withdrawals: 1}), []askPlan{q}},
		{"a question in a session that is opened anew", limits{prompts: 3, cancels: 1, reopens: 2}.otherwise(limits{prompts: 2, cancels: 1, reopens: 2}), []askPlan{q}},
		{"a form in a session that is opened anew and fails", limits{prompts: 2, failures: 1, takes: 1, reopens: 1}, []askPlan{f}},
		{"two questions in a session that is opened anew", limits{prompts: 2, elsewhere: 1, reopens: 1}.otherwise(limits{prompts: 2, reopens: 1}), []askPlan{apart(q), q}},
		{"a question in rounds", limits{prompts: 3, rounds: 1, takes: 1}, []askPlan{q}},
		{"a question and a failure", limits{prompts: 3, failures: 1, elsewhere: 1, withdrawals: 1}, []askPlan{q}},
		{"a sub-agent's question", limits{prompts: 2, cancels: 1, elsewhere: 1, failures: 1}, []askPlan{apart(q)}},
		{"a form", limits{prompts: 2, cancels: 1, leaves: 1}, []askPlan{f}},
		{"two questions", limits{prompts: 2, withdrawals: 1, elsewhere: 1}.otherwise(limits{prompts: 2, elsewhere: 1}), []askPlan{apart(q), q}},
		{"two questions of a turn", limits{prompts: 2, cancels: 1}.otherwise(limits{prompts: 2}), []askPlan{q, q}},
	} {
		t.Run(strings.ReplaceAll(sc.name, " ", "_"), func(t *testing.T) {
			if *deep {
				sc.limits.prompts, sc.limits.cancels, sc.limits.closes = maxPrompts, max(1, sc.limits.cancels), 1
			}
			walk(t, newRelayedWorld(sc.limits, sc.plan...))
		})
	}
}
