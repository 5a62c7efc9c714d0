package session

import (
	"slices"

	"github.com/acp-bridge/acp-bridge/convert"
)

// NewRelayed is New for an agent that somebody else runs: an editor's prompts go
// on to it whenever they come, and it ends each by itself, in any order, as it
// says. No reply to a request ends its turn, and its process is not ended here.
func NewRelayed() State { return State{phase: idle, steers: true, relayed: true} }

// mayJoin reports whether a prompt may go to an agent that works. A relayed one
// gets what comes while the editor, too, sees it work. What had to wait goes when
// the agent has ended what it has.
func (s *State) mayJoin(p *prompt) bool {
	return !s.relayed || p.key == s.fresh && s.turn.inPrompt()
}

// letGo leaves a turn that was cancelled to a relayed agent: what the editor sends
// next goes on to it as if nothing stood between. Not so if the editor does not
// know that the turn runs: then the next prompt waits for its end.
func (s *State) letGo() {
	if s.relayed && s.phase == cancelling && s.turn.inPrompt() {
		s.past = append(s.past, s.turn)
		s.turn, s.phase = nil, idle
	}
}

// promptEnded takes a relayed agent's end of a prompt. The last one ends the turn,
// whichever prompt it runs in by then. An error that no prompt would show is that
// of the next one: the user may have meant it for a question of this turn.
func (s *State) promptEnded(ev PromptEnded) {
	t := s.turnOf(ev.Key)
	switch {
	case t == nil:
		s.do(PassOver{}) // it was given up
	case len(t.sent) > 1:
		if slices.Contains(t.prompts(), ev.Key) {
			s.endAs(ev.How, ev.Key)
		}
		t.drop(ev.Key)
	case t != s.turn:
		s.endAs(ev.How, t.prompts()...)
		s.past = slices.DeleteFunc(s.past, func(o *turn) bool { return o == t })
	default:
		if ev.How.Err != nil && !t.inPrompt() && !t.cancelled {
			s.lost = &ev.How
			s.withdrawAll(func(*request) error { return ErrTurnOver })
		}
		s.turnEnded(TurnEnded{All: true, How: ev.How})
	}
}

// turnOf finds the turn for which a relayed agent has a prompt.
func (s *State) turnOf(key int) *turn {
	for _, t := range s.turnsNow() {
		if slices.Contains(t.sent, key) && (t != s.turn || s.phase != finishing) {
			return t
		}
	}
	return nil
}

// turnsNow are those that the agent has not ended.
func (s *State) turnsNow() []*turn {
	if s.turn == nil {
		return s.past
	}
	return append(slices.Clone(s.past), s.turn)
}

// endAs ends prompts as a relayed agent says, cancelled or not.
func (s *State) endAs(how Ending, keys ...int) {
	for _, key := range keys {
		if p := s.prompt(key); p != nil {
			p.state, p.how = over, how
		}
	}
}

// graceOver ends what was cancelled without the agent: its process is ended, or a
// relayed one left with what it has.
func (s *State) graceOver(n int) {
	now := s.phase == cancelling && s.turn.n == n
	switch {
	case now && s.relayed:
		s.giveUp(s.turn)
		s.turn, s.phase = nil, idle
	case now:
		s.kill()
	}
	s.past = slices.DeleteFunc(s.past, func(t *turn) bool {
		if t.n == n {
			s.giveUp(t)
		}
		return t.n == n
	})
}

func (s *State) giveUp(t *turn) {
	s.do(GiveUp{})
	s.finishAll(t.prompts(), EndedCancelled)
}

// leave ends what a relayed agent does not have to end: it may refuse to close the
// session, and then goes on with its turn.
func (s *State) leave(why error) {
	s.lost = nil
	s.withdrawAll(func(*request) error { return why })
	for _, p := range s.line {
		if p.state == over || slices.ContainsFunc(s.turnsNow(), func(t *turn) bool { return slices.Contains(t.sent, p.key) }) {
			continue
		}
		s.finish(p, EndedCancelled)
		for _, t := range s.turnsNow() {
			t.drop(p.key)
		}
	}
}

// promptTaken ends a prompt that the editor takes back, as far as that is ours to
// do: one that the agent has is the agent's to end.
func (s *State) promptTaken(key int) {
	p := s.prompt(key)
	switch {
	case p == nil || s.phase == finishing:
		return
	case p.state == waiting:
		s.finish(p, EndedCancelled)
		return
	case s.turnOf(key) != nil:
		s.do(TakeBack{key})
		return
	}
	for _, t := range s.turnsNow() {
		if slices.Contains(t.prompts(), key) {
			s.do(TakeBack{t.sent[len(t.sent)-1]})
			return
		}
	}
	// It answers a question while no turn runs.
	s.withdraw(convert.ErrCancelled, func(r *request) bool { return r.prompt == key })
	s.finish(p, EndedCancelled)
}
