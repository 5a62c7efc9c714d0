package session

import "slices"

// startDone goes on with the prompt that the agent was started for.
func (s *State) startDone(ev StartDone) {
	s.launching = false
	then := &s.phase
	if s.phase == finishing {
		then = &s.end.then // of a turn that began by itself and is over already
	}
	if *then != starting {
		return
	}
	switch {
	case ev.Failed != nil:
		if *then = down; s.phase == down {
			s.turn = nil
		}
		s.startFailed(*ev.Failed)
	case s.phase == starting && s.turn != nil:
		*then = running // it began by itself
	default:
		*then = idle
	}
}

// startFailed ends what waited for the agent, and what it left behind.
func (s *State) startFailed(how Ending) {
	s.leaveUnanswered(how, ErrGone)
	s.finishGiven(how)
	if p := s.firstWaiting(true); p != nil && !s.stopped { // else it was not this prompt's
		s.finish(p, how)
	}
}

// sendFailed takes a prompt back that the agent did not get.
func (s *State) sendFailed(ev SendFailed) {
	p := s.prompt(ev.Key)
	if p == nil || s.turn == nil {
		return
	}
	s.turn.drop(p.key)
	if len(s.turn.sent) == 0 && !s.turn.own {
		s.turn = nil
		s.phase = idle
	}
	if !ev.Gone {
		s.finish(p, ev.How)
		return
	}
	p.state = waiting
	s.phase = leaving
}

// drop takes a prompt out of a turn that the agent did not get it for.
func (t *turn) drop(key int) {
	if t.owner == key {
		t.owner = 0
	}
	is := func(k int) bool { return k == key }
	t.steered = slices.DeleteFunc(t.steered, is)
	t.sent = slices.DeleteFunc(t.sent, is)
}

// turnBegan notes that the agent works. Nobody may have asked for it.
func (s *State) turnBegan(ev TurnBegan) {
	s.steers = ev.Steers
	switch s.phase {
	case idle, starting:
		if s.turn == nil {
			s.turn = s.newTurn()
			s.turn.own = true
		}
		if s.phase == idle {
			s.phase = running
		}
	case sent:
		s.phase = running
	}
	if s.turn != nil {
		s.turn.begun = true
		s.turn.perhaps = nil // a turn begins: the prompt's own, if one waits
	}
}

// promptBack takes back a prompt that the model has not seen. If a turn should
// have begun with it, none does, or the one that has begun is the agent's own.
func (s *State) promptBack(ev PromptBack) {
	p, t := s.prompt(ev.Key), s.turn
	switch {
	case t == nil || s.phase == finishing || !slices.Contains(t.sent, ev.Key):
		return
	case p == nil: // a question has ended it before the model saw it
		t.drop(ev.Key)
		if len(t.sent) > 0 || t.begun || t.own {
			t.own = t.own || len(t.sent) == 0
			return
		}
		s.finishAll(t.prompts(), EndedTurn)
	case p.begun || !slices.Contains(t.prompts(), p.key):
		return
	default:
		p.back, p.refused = true, ev.Refused
	}
	switch {
	case p == nil:
	case p.key != t.owner && p.refused == nil: // it waits for the end of the turn
		return
	case p.key != t.owner || t.begun:
		t.own = t.own || p.key == t.owner
		t.drop(p.key)
		s.waitAgain(p)
		return
	}
	then := idle
	if s.phase == leaving {
		then = leaving
	}
	s.goOn(t.prompts(), then)
	s.withdraw(ErrTurnOver, func(r *request) bool { return r.turn == t.n })
}

// turnEnded begins to end a turn: what was asked in it is taken back first.
func (s *State) turnEnded(ev TurnEnded) {
	t := s.turn
	if t == nil || s.phase == finishing {
		s.do(PassOver{})
		return
	}
	named := slices.ContainsFunc(t.sent, func(k int) bool { return slices.Contains(ev.Answers, k) })
	if !ev.All && !named && !t.own && (ev.Own || len(ev.Answers) > 0) {
		if ev.Perhaps {
			t.perhaps = &ev
		}
		t.begun = false
		s.do(PassOver{}) // of a turn that the agent began by itself, or that is over
		return
	}
	then := idle
	if s.phase == leaving || s.phase == starting {
		then = s.phase
	}
	s.end = &turnEnd{TurnEnded: ev, then: then}
	s.phase = finishing
	s.withdraw(ErrTurnOver, func(r *request) bool { return r.turn == t.n })
}

// agentExited ends what the process leaves behind.
func (s *State) agentExited(ev AgentExited) {
	s.exit = ev.How
	s.end = &turnEnd{TurnEnded: TurnEnded{All: true, How: ev.How}, exit: true, why: ev.Why, then: down}
	s.phase, s.interrupting, s.steers = finishing, 0, false
	s.leaveUnanswered(ev.How, ev.Why)
}

// leaveUnanswered takes back all that a process asked that is gone. The prompt
// that a question waits for is not sent: it is meant as an answer. One that a
// question has got ends with the process.
func (s *State) leaveUnanswered(how Ending, why error) {
	if s.waitsForWords() {
		s.lost = &how
	}
	s.withdrawAll(func(*request) error { return why })
	for _, r := range s.requests {
		r.prompt = 0
	}
}

// finishGiven ends all prompts that a process or its questions have.
func (s *State) finishGiven(how Ending) {
	for _, p := range s.line {
		if p.state == given {
			s.finish(p, how)
		}
	}
}

// agentIdle ends a prompt that the agent took into a turn of its own: no other
// end will come.
func (s *State) agentIdle() {
	if s.turn == nil || s.turn.perhaps == nil || s.phase == finishing {
		s.do(PassOver{})
		return
	}
	end := *s.turn.perhaps
	end.All = true
	s.turnEnded(end)
}

// waitsForWords reports whether a question stands in the conversation.
func (s *State) waitsForWords() bool {
	return s.inState(parked) != nil || s.inState(parking) != nil && !s.turn.inPrompt()
}

// wrap lets the end of the turn be drawn once nothing of it is asked any more.
func (s *State) wrap() {
	if s.phase != finishing || s.end.wrapping {
		return
	}
	for _, r := range s.requests {
		if s.end.exit || s.turn != nil && r.turn == s.turn.n {
			return
		}
	}
	s.end.wrapping = true
	s.do(WrapUp{s.turn != nil && s.turn.cancelled})
}

// turnWrapped ends the prompts of the turn. Those that its end does not name go
// on: the agent has them in its queue.
func (s *State) turnWrapped(goesOn bool) {
	if s.phase != finishing {
		return
	}
	end, t := s.end, s.turn
	how := end.How
	switch {
	case t == nil || !t.cancelled || s.relayed:
	case t.said && !end.exit:
		how = EndedTurn
	default:
		how = EndedCancelled
	}
	var rest []int
	switch {
	case end.exit:
		if t != nil {
			s.finishAll(t.prompts(), how)
		}
		s.finishGiven(end.How)
	case s.relayed:
		s.endAs(how, t.prompts()...)
	case t != nil:
		for _, key := range t.prompts() {
			p := s.prompt(key)
			switch {
			case p == nil:
			case goesOn && key == t.owner && !t.cancelled:
				s.waitAgain(p)
			case !end.All && key != t.owner && !p.begun && !slices.Contains(end.Answers, key):
				rest = append(rest, key)
			default:
				s.finish(p, how)
			}
		}
	}
	if t != nil && !t.cancelled && !goesOn && how.Reason != EndedCancelled.Reason {
		s.ended = &how
	}
	s.end = nil
	s.goOn(rest, end.then)
}

// goOn makes the next turn of prompts that the agent still has. Those that it
// gave back wait again.
func (s *State) goOn(rest []int, then phase) {
	s.turn, s.phase = nil, then
	var kept []int
	for _, key := range rest {
		p := s.prompt(key)
		switch {
		case p == nil:
		case p.back:
			s.waitAgain(p)
		default:
			kept = append(kept, key)
		}
	}
	if len(kept) == 0 {
		return
	}
	s.turn = s.newTurn()
	s.turn.owner, s.turn.steered, s.turn.sent, s.turn.queued = kept[0], slices.Clone(kept[1:]), kept, true
	if then != idle {
		return
	}
	s.phase = sent
	if s.prompt(kept[0]).cancelled {
		s.cancelTurn(true, ErrTurnCancelled)
	}
}

// waitAgain puts a prompt back in line that the agent gave up, unless that was
// for good.
func (s *State) waitAgain(p *prompt) {
	if p.refused != nil {
		s.finish(p, Ending{Err: p.refused})
		return
	}
	p.state, p.begun, p.back = waiting, false, false
}
