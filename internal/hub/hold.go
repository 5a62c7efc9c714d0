package hub

import (
	"errors"

	"github.com/acp-bridge/acp-bridge/convert"
)

// Hold says that a question belongs to one process, which alone asks it again, under the
// same ID and Asker: nobody takes it over. An agent's hook is one: its dialog stays open
// beside it. After a lease of silence the question is left to the terminal; if the hook
// returns after that, it is asked anew.
type Hold struct {
	// Call is the agent's id of what asks, and Agent the sub-agent that does; both may
	// be empty.
	Call  string `json:"call,omitempty"`
	Agent string `json:"agent,omitempty"`
}

// lost is why the answer to a question has no use whose asker is out of sight.
const lost = "the hub has lost sight of the agent: answer it where the agent runs"

// held reports whether the process that holds a question has to come for it.
func (r *Record) held() bool {
	return r.Hold != nil && (r.Open() || r.accepted())
}

// Held are a device's questions in a conversation that have a [Hold], and are open or
// have an outcome that may not have been used.
func (b *Board) Held(group, conversation, device string) (held []*Record) {
	for _, r := range b.Conversation(group, conversation) {
		if r.Hold != nil && r.Of(device) && (r.Open() || r.End.Consumed.IsZero() && r.End.Undelivered == "") {
			held = append(held, r)
		}
	}
	return held
}

// endGone leaves to the terminal what a process held that is out of sight, and says of
// answers that came that they were of no use.
func (b *Board) endGone() {
	var gone []*Record
	b.step(func(s *state) {
		for key := range s.leases {
			if r := s.records[key]; r != nil && r.Gone && r.held() {
				gone = append(gone, r)
			}
		}
	})
	for _, r := range gone {
		var err error
		if r.Open() {
			_, err = b.settle(b.own, r, &End{Outcome: convert.Disconnected.String(), Reason: lost}, "", nil)
		} else {
			_, err = b.Refuse(b.own, r.Ref(), lost)
		}
		if err != nil && !errors.Is(err, ErrSettled) {
			b.log.Warn("a question whose asker is out of sight could not be ended", "err", err)
		}
	}
}
