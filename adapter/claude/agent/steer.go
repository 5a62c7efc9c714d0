package agent

import (
	"slices"

	"github.com/acp-bridge/acp-bridge/adapter/claude"
	"github.com/acp-bridge/acp-bridge/convert"
)

// A prompt that comes while a turn runs goes to the CLI at once. At the next
// step of the turn the CLI shows it to the model; if there is none, it makes a
// turn of its own of it, of all that wait if they are several. Each prompt has
// an id, and a result names those that it answers.

// canSteer reads in system/init whether the CLI does all that this needs: tell
// what becomes of a prompt, and take back what it has not begun with.
func canSteer(init claude.Message) bool {
	var has []string
	for _, c := range init.Get("capabilities").Array() {
		has = append(has, c.Str)
	}
	return slices.Contains(has, "msg_lifecycle_v1") && slices.Contains(has, "interrupt_cancel_queued_v1")
}

// answered are the ids of the prompts that a result answers. It is never nil.
type answered []string

func answeredBy(result claude.Message) answered {
	ids := answered{}
	for _, id := range result.Get("user_message_uuids").Array() {
		ids = append(ids, id.Str)
	}
	if id := result.Get("user_message_uuid").Str; id != "" && len(ids) == 0 {
		ids = append(ids, id)
	}
	return ids
}

func (a answered) has(id string) bool { return slices.Contains(a, id) }

// unanswered takes those prompts out of a turn that its result does not answer.
// The prompt that the turn ran in is not among them. mu of the session is held.
func (t *turn) unanswered(by answered) (rest []*prompt) {
	t.steered = slices.DeleteFunc(t.steered, func(p *prompt) bool {
		left := !p.started && !by.has(p.id)
		if left {
			rest = append(rest, p)
		}
		return left
	})
	return rest
}

// goOn makes the next turn of the prompts that the CLI still has in its queue,
// if there are any. mu is held.
func (s *session) goOn(rest []*prompt) {
	s.turn = nil
	next := s.newTurn()
	for _, p := range rest {
		if p.refused {
			p.ended = true
			p.done <- ending{err: internal("Claude Code refused the prompt")}
			continue
		}
		if p.dropped {
			p.giveBack()
			continue
		}
		next.steered = append(next.steered, p)
		next.ids = append(next.ids, p.id)
	}
	if len(next.steered) == 0 {
		next.cancel(nil)
		return
	}
	next.owner, next.steered, next.queued = next.steered[0], next.steered[1:], true
	if next.owner.cancelled() {
		next.cancelled, next.doomed = true, true
		next.cancel(convert.ErrCancelled)
	}
	s.turn = next
}

// promptMoved takes what the CLI says of a prompt.
func (s *session) promptMoved(m claude.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.turn
	if t == nil {
		return
	}
	id := m.Get("command_uuid").Str
	i := slices.IndexFunc(t.prompts(), func(p *prompt) bool { return p.id == id })
	if i < 0 {
		return
	}
	p := t.prompts()[i]
	switch state := m.Get("state").Str; state {
	case "started":
		p.started = true
	case "cancelled", "discarded", "refused":
		p.dropped = !p.started
		p.refused = p.dropped && state == "refused" // again it would do the same
		if p.dropped && p == t.owner {              // no turn begins with it
			rest := t.prompts()
			t.owner, t.steered = nil, nil
			s.goOn(rest)
			t.cancel(errTurnOver)
			t.end()
		}
	}
}
