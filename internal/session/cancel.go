package session

import "cmp"

// cancelAll cancels the turn, what is asked, and every prompt whose response is
// not out.
func (s *State) cancelAll(why error) {
	s.cancelPrompts()
	s.cancelTurn(true, why)
}

// cancelPrompts cancels every prompt whose response is not out.
func (s *State) cancelPrompts() {
	for _, p := range s.line {
		p.cancelled = true
		if p.state != given {
			s.finish(p, EndedCancelled)
		}
	}
	switch s.phase {
	case starting:
		s.stopped = true
		s.do(StopStart{})
	case finishing:
		if s.turn != nil { // it has ended, its prompts have not
			s.turn.cancelled = true
			s.turn.why = cmp.Or(s.turn.why, ErrTurnCancelled)
		}
	}
}

// cancelTurn cancels the turn, if there is one, and takes back all that is
// asked, sub-agents' requests too, and what it asks from now on, for that reason.
// Without tell a reply tells the agent, and ends the turn alone: a sub-agent that
// ends with it takes its requests back itself.
func (s *State) cancelTurn(tell bool, why error) {
	cancels := s.phase == sent || s.phase == running
	if cancels {
		s.phase = cancelling
		s.turn.cancelled, s.turn.repeat, s.turn.why = true, tell, why
	}
	s.withdraw(why, func(r *request) bool { return tell || r.turn != 0 })
	if cancels && tell && s.interrupting == 0 { // else that one is repeated
		s.interrupt()
	}
	if cancels {
		s.do(StartGrace{s.turn.n})
	}
}

func (s *State) interrupt() {
	s.interrupts++
	s.interrupting = s.interrupts
	s.do(Interrupt{s.interrupting, s.turn.queued})
}

func (s *State) interruptDone(ev InterruptDone) {
	if s.interrupting == ev.N {
		s.interrupting = 0
	}
	if s.phase == cancelling && s.interrupting == 0 && s.turn.repeat {
		s.do(RepeatSoon{s.turn.n})
	}
}

// interruptUnseen ends a process that hears nothing, also if its turn has ended: the
// next prompt would get no end, or be hit by the interrupt. While the end of a turn is
// drawn the agent is not read: it is told once more.
func (s *State) interruptUnseen(n int) {
	switch {
	case s.interrupting != n, s.phase == leaving: // of a process that is gone, or about to be
	case s.phase == finishing:
		s.interrupt()
	default:
		s.kill()
	}
}

// kill ends the process of an agent that does not honour a cancel.
func (s *State) kill() {
	s.phase = leaving
	s.do(Kill{})
}

// close ends the session.
func (s *State) close(ev CloseCame) {
	how := ev.How
	s.withdrawAll(func(*request) error { return ev.Why })
	for _, p := range s.line {
		if p.state != over {
			s.finish(p, how)
		}
	}
	if s.phase == starting {
		s.do(StopStart{})
	}
	if s.end != nil && !s.end.wrapping {
		s.do(WrapUp{true})
	}
	s.phase, s.turn, s.end, s.past = closed, nil, nil, nil
	s.lost, s.why = &how, ev.Why
	s.flush()
}

// afterClose refuses what comes too late, so that nobody waits for it.
func (s *State) afterClose(ev Event) {
	switch ev := ev.(type) {
	case PromptCame:
		s.do(Finish{ev.Key, *s.lost})
	case TurnEnded, AgentIdle:
		s.do(PassOver{})
	case AgentExited:
		s.do(WrapUp{true})
	case RequestCame, RequestShown, RequestParks, RequestParked, RequestWithdrawn, PartStopped, RequestSettled, RequestReplied:
		s.stepRequest(ev)
	}
}
