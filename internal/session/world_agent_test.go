package session

import (
	acp "github.com/coder/acp-go-sdk"
)

// What the agent says. One goroutine reads it, and waits at the end of a turn
// until that is drawn.
func (w *world) agentMoves(list []move) []move {
	a := w.agent
	switch {
	case w.reader.at == draws:
		drawn := func(goesOn bool) func(*world) {
			return func(w *world) {
				w.reader = reader{}
				w.settleQuiet()
				w.step(TurnWrapped{goesOn})
			}
		}
		if w.limits.goesOn > 0 {
			list = append(list, move{"the end is drawn, and the prompt goes on", 0, false, func(w *world) {
				w.limits.goesOn--
				if t := w.state.turn; t != nil && t.owner != 0 { // a question has had its words
					w.prompt(t.owner).words = false
				}
				drawn(true)(w)
			}})
		}
		return append(list, move{"the end is drawn", 0, true, drawn(false)})
	case w.reader.at == waits:
		return list
	case a.dead:
		return append(list, move{"the end of the agent is noticed", 0, true, func(w *world) {
			w.agent.dead = false
			for i := range w.prompts {
				w.prompts[i].atAgent = false
			}
			w.reader = reader{at: waits, exit: true}
			w.noteDeath()
			w.step(AgentExited{Ending{Err: errDied}, errDied})
		}})
	case !a.alive && a.start != starts:
		return list
	}
	list = w.askingMoves(list)
	if w.ownTurns > 0 && !a.turn && a.taken.n == 0 {
		list = append(list, move{"the agent begins by itself", 0, false, func(w *world) {
			w.ownTurns--
			w.agent.turn, w.agent.own, w.agent.idle = true, true, false
			w.step(TurnBegan{w.steers})
		}})
	}
	return w.workMoves(list)
}

// workMoves are what becomes of the prompts that the agent has.
func (w *world) workMoves(list []move) []move {
	a := w.agent
	if a.backs.n > 0 {
		key := a.backs.list()[0]
		return append(list, move{"the agent gives back prompt #", key, true, func(w *world) {
			w.agent.backs.drop(key)
			w.prompt(key).atAgent = false
			w.step(PromptBack{Key: key})
		}})
	}
	for _, key := range a.queue.list() {
		if w.refusals > 0 && w.steers {
			list = append(list, move{"the agent refuses prompt #", key, false, func(w *world) {
				w.refusals--
				w.agent.queue.drop(key)
				w.prompt(key).atAgent = false
				w.step(PromptBack{key, errRefused})
			}})
		}
	}
	if a.queue.n > 0 {
		key := a.queue.list()[0]
		take := func(w *world) {
			w.agent.queue.drop(key)
			w.agent.taken.add(key)
		}
		switch {
		case w.steers:
			list = append(list, move{"the model sees prompt #", key, true, func(w *world) {
				take(w)
				w.step(PromptBegun{key})
			}})
		case !a.turn && a.taken.n == 0, a.turn && a.own:
			// An old agent does not say so; it may take a prompt into a turn of its own.
			list = append(list, move{"the agent takes prompt #", key, true, take})
		}
	}
	switch {
	case !a.turn && a.taken.n > 0:
		list = append(list, move{"the agent begins", 0, true, func(w *world) {
			w.agent.turn, w.agent.idle, w.perhaps = true, false, false
			w.step(TurnBegan{w.steers})
		}})
	case a.turn:
		list = append(list, move{"the turn ends", 0, true, (*world).endTurn})
	case a.idle:
		list = append(list, move{"the agent is idle", 0, true, func(w *world) {
			w.agent.idle = false
			w.reader.at = waits
			w.noteEnd()
			w.perhaps = false
			w.step(AgentIdle{})
		}})
	}
	return list
}

func (w *world) endTurn() {
	a := &w.agent
	ev := TurnEnded{Own: a.own, How: Ending{Reason: acp.StopReasonMaxTokens}}
	if w.steers {
		ev.Answers = a.taken.list()
	}
	ev.Perhaps = a.own && !w.steers && a.queue.n == 0
	for _, key := range a.taken.list() {
		w.prompt(key).atAgent = false
	}
	a.turn, a.own, a.taken, a.idle = false, false, keys{}, a.queue.n == 0
	w.reader.at = waits
	w.noteEnd()
	w.step(ev)
	w.perhaps = ev.Perhaps && w.reader.at == reads && a.start == 0
}

// askingMoves are what the agent asks and no longer asks.
func (w *world) askingMoves(list []move) []move {
	if w.asked < w.plans {
		list = append(list, move{"the agent asks #", firstAsk + int(w.asked), false, func(w *world) {
			key := firstAsk + int(w.asked)
			p := w.plan[w.asked]
			w.asks[w.asked] = askView{askPlan: p, at: inLine, inTurn: w.inTurn() && !p.apart, banned: w.closed || w.relayed && w.quiet}
			w.asked++
			w.everAsked = true
			w.step(RequestCame{key, p.kind, p.apart})
		}})
	}
	if w.withdrawals == 0 {
		return list
	}
	for i, r := range w.asks[:w.asked] {
		if r.at < left && !r.withdrawn {
			list = append(list, move{"the agent withdraws #", firstAsk + i, false, func(w *world) {
				w.withdrawals--
				w.step(RequestWithdrawn{Key: firstAsk + i})
				if !w.asks[i].withdrawn {
					w.breaks("a request that the agent withdraws is taken back")
				}
			}})
		}
	}
	return list
}

// processMoves are the end of the process, and what fails.
func (w *world) processMoves(list []move) []move {
	a := w.agent
	if a.alive && (w.deaths > 0 || w.closed) {
		list = append(list, move{"the agent dies", 0, w.closed, func(w *world) {
			w.deaths = max(0, w.deaths-1)
			w.die()
		}})
	}
	if a.alive && !a.failing && w.failedSends > 0 {
		list = append(list, move{"the next prompt will not be sent", 0, false, func(w *world) {
			w.failedSends--
			w.agent.failing = true
		}})
	}
	return list
}

// die ends the process. What it had written has been read, but for its end.
func (w *world) die() {
	for i := range w.flights {
		w.flights[i].old = w.flights[i].n != 0
	}
	w.agent = agentView{start: w.agent.start, stopped: w.agent.stopped, dead: true}
}
