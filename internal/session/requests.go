package session

import (
	"cmp"
	"errors"
	"slices"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/life"
)

// stepRequest takes what happens to the agent's requests.
func (s *State) stepRequest(ev Event) {
	switch ev := ev.(type) {
	case RequestCame:
		s.requestCame(ev)
	case RequestShown:
		s.requestShown(ev.Key)
	case RequestParks:
		s.requestParks(ev.Key)
	case RequestParked:
		s.requestParked(ev)
	case RequestWithdrawn:
		s.withdraw(cmp.Or(ev.Why, ErrWithdrawn), func(r *request) bool { return r.key == ev.Key })
	case PartStopped:
		s.withdraw(cmp.Or(ev.Why, ErrPartStopped), func(r *request) bool { return slices.Contains(ev.Keys, r.key) })
	case RequestSettled:
		s.requestSettled(ev)
	case RequestReplied:
		s.requestReplied(ev)
	}
}

func (s *State) request(key int) *request {
	for _, r := range s.requests {
		if r.key == key {
			return r
		}
	}
	return nil
}

// requestCame takes a request of the agent. After a cancel nothing is asked.
func (s *State) requestCame(ev RequestCame) {
	r := &request{key: ev.Key, kind: ev.Kind}
	phase := s.phase
	if s.relayed && phase == finishing { // it has ended that turn, and is read on
		phase = idle
	}
	if phase == idle && len(s.past) > 0 { // it can only be of what was cancelled
		phase = cancelling
	}
	if s.turn != nil && !ev.Apart && phase == s.phase {
		r.turn = s.turn.n
	}
	s.requests = append(s.requests, r)
	s.do(Post{r.key})
	switch phase {
	case closed:
		s.withdraw(s.why, func(o *request) bool { return o == r })
	case cancelling, finishing, leaving:
		if phase == cancelling && ev.Apart && s.turn != nil && !s.turn.repeat {
			return // a no to the turn is none to a sub-agent
		}
		s.withdraw(s.notAsked(), func(o *request) bool { return o == r })
	}
}

// notAsked is why nothing more is asked: the turn was cancelled, also one that a
// relayed agent has still to end, or it is over, or its process is.
func (s *State) notAsked() error {
	t := s.turn
	if t == nil && len(s.past) > 0 {
		t = s.past[len(s.past)-1]
	}
	switch {
	case t != nil && t.why != nil:
		return t.why
	case s.phase != finishing:
		return ErrGone
	}
	return cmp.Or(s.end.why, ErrTurnOver)
}

// withdraw takes back those of some requests that are still asked.
func (s *State) withdraw(why error, which func(*request) bool) {
	s.withdrawAll(func(r *request) error {
		if which(r) {
			return why
		}
		return nil
	})
}

// withdrawAll takes back the requests that are still asked, each for its reason;
// those without one stay. What waits goes first: at the desk it would go along
// with what is shown, and not for its own reason. Only what a person was shown can
// be what they cancelled.
func (s *State) withdrawAll(reason func(*request) error) {
	for _, waiting := range []bool{true, false} {
		for _, r := range s.requests {
			if r.state == withdrawn || r.state == settled || (r.state == queued) != waiting {
				continue
			}
			if why := reason(r); why != nil {
				if errors.Is(why, convert.ErrCancelled) && (r.state == queued || r.state == parking) {
					why = life.Along{With: why}
				}
				s.leaveConversation(r)
				r.state = withdrawn
				s.do(Withdraw{r.key, why})
			}
		}
	}
}

// leaveConversation notes that a question in the conversation is gone without a
// reply.
func (s *State) leaveConversation(r *request) {
	if r.state == parked || r.state == parking || r.state == hidden && r.stood {
		s.stale = true
	}
}

// openedAnew hides what the editor showed. A question that is being put into the
// conversation will stand in the new view.
func (s *State) openedAnew() {
	for _, r := range s.requests {
		if r.state == shown || r.state == parked {
			r.stood, r.state = r.state == parked, hidden
			s.do(ShowAgain{r.key})
		}
	}
}

// requestShown lets the editor show a request, unless it was taken back.
func (s *State) requestShown(key int) {
	r := s.request(key)
	ok := r != nil && r.state != withdrawn && r.state != settled
	if ok {
		r.state = shown
	}
	s.do(Admit{key, ok})
}

// requestParks lets a question into the conversation. A prompt that is there
// before it is no answer to it, and takes its place.
func (s *State) requestParks(key int) {
	r := s.request(key)
	ok := r != nil && r.state != withdrawn && r.state != settled
	switch {
	case !ok:
	case s.phase == sent: // the agent has not begun with it
		s.withdrawAll(func(*request) error { return ErrNotAsked })
		ok = false
	case s.promptWaits():
		s.makeWay()
		ok = false
	default:
		r.state = parking
	}
	s.do(Admit{key, ok})
}

// promptWaits reports whether a prompt is in line that the model has not seen and
// that no question has.
func (s *State) promptWaits() bool {
	for _, p := range s.line {
		if p.state != over && !p.own && !p.cancelled && !p.begun && !s.answers(p) && (s.turn == nil || p.key != s.turn.owner) {
			return true
		}
	}
	return false
}

// answers reports whether a question has the prompt, while no turn runs. It may
// be the one before: the next has its turn before the agent has been told.
func (s *State) answers(p *prompt) bool {
	return slices.ContainsFunc(s.requests, func(r *request) bool { return r.prompt == p.key })
}

// requestParked makes the next prompt the answer, now that the question can be
// read, and ends the prompt that ran.
func (s *State) requestParked(ev RequestParked) {
	key, r := ev.Key, s.request(ev.Key)
	if r == nil || r.state != parking {
		s.do(Admit{key, false})
		return
	}
	r.state, r.after, r.unseen = parked, s.newest, s.Unseen()
	how := EndedTurn
	how.WaitingFor = ev.ToolCall
	if s.goesOn() {
		s.finishAll(s.turn.prompts(), how)
		s.turn.owner, s.turn.steered = 0, nil
	}
	s.finishAnswer(r, how)
	s.do(Admit{key, true})
}

// goesOn reports whether a turn goes on when a question has its answer.
func (s *State) goesOn() bool { return s.turn != nil && s.phase != finishing && !s.turn.cancelled }

// finishAnswer ends the prompt that a question has while no turn runs.
func (s *State) finishAnswer(r *request, how Ending) {
	if p := s.prompt(r.prompt); p != nil {
		s.finish(p, how)
	}
	r.prompt = 0
}

// answer hands a prompt to the question that waits for it. The turn goes on in
// that prompt. Words that may have been meant for another question, or for none, are
// no answer: the question is asked once more, alone.
func (s *State) answer(r *request, p *prompt) {
	r.state, p.state = heard, given
	if s.goesOn() {
		s.turn.owner = p.key
	} else {
		r.prompt = p.key
	}
	s.do(Hear{r.key, p.key, p.stale || r.unseen})
}

// requestSettled notes an outcome. A user who says no ends the turn. A permission
// that was never seen went along with a question.
func (s *State) requestSettled(ev RequestSettled) {
	r := s.request(ev.Key)
	if r == nil {
		return
	}
	s.leaveConversation(r)
	was := r.state
	r.state = settled
	if ev.Dismissed && was != withdrawn && r.kind != Form && (was != queued || r.kind == Question) {
		s.cancelTurn(false, life.ErrWithAnother)
		if was == heard && s.turn != nil {
			s.turn.said = true
		}
	}
}

// HeardFrom is the prompt whose words a request has while no turn runs; 0 for none.
func (s *State) HeardFrom(key int) int {
	if r := s.request(key); r != nil {
		return r.prompt
	}
	return 0
}

// requestReplied forgets a request.
func (s *State) requestReplied(ev RequestReplied) {
	for i, r := range s.requests {
		if r.key == ev.Key {
			if p := s.prompt(r.prompt); p != nil && ev.GoOn {
				p.state, p.empty, r.prompt = waiting, false, 0
			}
			s.finishAnswer(r, EndedTurn)
			s.requests = append(s.requests[:i:i], s.requests[i+1:]...)
			return
		}
	}
}
