package editor

import (
	"slices"

	"github.com/acp-bridge/acp-bridge/convert"
)

// stepRequest takes what happens to the agent's requests.
func (s *state) stepRequest(ev event) {
	switch ev := ev.(type) {
	case requestCame:
		s.requestCame(ev)
	case requestShown:
		s.requestShown(ev.key)
	case requestParks:
		s.requestParks(ev.key)
	case requestParked:
		s.requestParked(ev)
	case requestWithdrawn:
		s.withdraw(errWithdrawn, func(r *request) bool { return r.key == ev.key })
	case partStopped:
		s.withdraw(ErrPartStopped, func(r *request) bool { return slices.Contains(ev.keys, r.key) })
	case requestSettled:
		s.requestSettled(ev)
	case requestReplied:
		s.requestReplied(ev.key)
	}
}

func (s *state) request(key int) *request {
	for _, r := range s.requests {
		if r.key == key {
			return r
		}
	}
	return nil
}

// requestCame takes a request of the agent. After a cancel nothing is asked.
func (s *state) requestCame(ev requestCame) {
	r := &request{key: ev.key, kind: ev.kind}
	if s.turn != nil && !ev.apart {
		r.turn = s.turn.n
	}
	s.requests = append(s.requests, r)
	s.do(post{r.key})
	switch s.phase {
	case closed:
		s.withdraw(s.why, func(o *request) bool { return o == r })
	case cancelling, finishing, leaving:
		s.withdraw(convert.ErrCancelled, func(o *request) bool { return o == r })
	}
}

// withdraw takes back those requests that are still asked.
func (s *state) withdraw(why error, which func(*request) bool) {
	for _, r := range s.requests {
		if r.state == withdrawn || r.state == settled || !which(r) {
			continue
		}
		s.leaveConversation(r)
		r.state = withdrawn
		s.do(withdraw{r.key, why})
	}
}

// leaveConversation notes that a question in the conversation is gone without a
// reply.
func (s *state) leaveConversation(r *request) {
	if r.state == parked || r.state == parking {
		s.stale = true
	}
}

// requestShown lets the editor show a request, unless it was taken back.
func (s *state) requestShown(key int) {
	r := s.request(key)
	ok := r != nil && r.state != withdrawn && r.state != settled
	if ok {
		r.state = shown
	}
	s.do(admit{key, ok})
}

// requestParks lets a question into the conversation. A prompt that is there
// before it is no answer to it, and takes its place.
func (s *state) requestParks(key int) {
	r := s.request(key)
	ok := r != nil && r.state != withdrawn && r.state != settled
	switch {
	case !ok:
	case s.phase == sent: // the agent has not begun with it
		s.withdraw(convert.ErrCancelled, func(*request) bool { return true })
		ok = false
	case s.promptWaits():
		s.cancelTurn(s.workGoesOn(r))
		ok = false
	default:
		r.state = parking
	}
	s.do(admit{key, ok})
}

// promptWaits reports whether a prompt is in line that the model has not seen and
// that no question has.
func (s *state) promptWaits() bool {
	for _, p := range s.line {
		if p.state != over && !p.own && !p.cancelled && !p.begun && !s.answers(p) && (s.turn == nil || p.key != s.turn.owner) {
			return true
		}
	}
	return false
}

// answers reports whether a question has the prompt, while no turn runs. It may
// be the one before: the next has its turn before the agent has been told.
func (s *state) answers(p *prompt) bool {
	return slices.ContainsFunc(s.requests, func(r *request) bool { return r.prompt == p.key })
}

// requestParked makes the next prompt the answer, now that the question can be
// read, and ends the prompt that ran.
func (s *state) requestParked(ev requestParked) {
	key, r := ev.key, s.request(ev.key)
	if r == nil || r.state != parking {
		s.do(admit{key, false})
		return
	}
	r.state, r.after = parked, s.newest
	how := endedTurn
	how.waitingFor = ev.toolCall
	if s.turn != nil && s.phase != finishing {
		s.finishAll(s.turn.prompts(), how)
		s.turn.owner, s.turn.steered = 0, nil
	}
	s.finishAnswer(r, how)
	s.do(admit{key, true})
}

// finishAnswer ends the prompt that a question has while no turn runs.
func (s *state) finishAnswer(r *request, how ending) {
	if p := s.prompt(r.prompt); p != nil {
		s.finish(p, how)
	}
	r.prompt = 0
}

// answer hands a prompt to the question that waits for it. The turn goes on in
// that prompt. Words that may have been meant for another question are no
// answer: the question is asked once more, alone.
func (s *state) answer(r *request, p *prompt) {
	r.state, p.state = heard, given
	if s.turn != nil && s.phase != finishing {
		s.turn.owner = p.key
	} else {
		r.prompt = p.key
	}
	s.do(hear{r.key, p.key, p.stale})
}

// requestSettled notes an outcome. A user who says no ends the turn. A permission
// that was never seen went along with a question.
func (s *state) requestSettled(ev requestSettled) {
	r := s.request(ev.key)
	if r == nil {
		return
	}
	s.leaveConversation(r)
	was := r.state
	r.state = settled
	if ev.dismissed && was != withdrawn && r.kind != form && (was != queued || r.kind == question) {
		s.withdraw(errWithAnother, func(*request) bool { return true })
		s.cancelTurn(false)
	}
}

// requestReplied forgets a request.
func (s *state) requestReplied(key int) {
	for i, r := range s.requests {
		if r.key == key {
			s.finishAnswer(r, endedTurn)
			s.requests = append(s.requests[:i:i], s.requests[i+1:]...)
			return
		}
	}
}
