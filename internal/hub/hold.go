package hub

import (
	"errors"
	"maps"
	"slices"

	"github.com/acp-bridge/acp-bridge/convert"
)

// Hold says that a question belongs to one connection: it ends with that, and so it
// can never be taken over. A hook of an agent is such a one, whose dialog stays open
// beside it.
type Hold struct {
	// Call is the agent's id of what asks, and Agent the sub-agent that does; both may
	// be empty.
	Call  string `json:"call,omitempty"`
	Agent string `json:"agent,omitempty"`
}

// lost is why the answer to a question on a connection that ended has no use.
const lost = "the connection on which it was asked has ended: answer it where the agent runs"

// Held are the questions of a device in a conversation that belong to a connection,
// are open, or have an outcome of which nobody knows whether it was used.
func (b *Board) Held(group, conversation, device string) (held []*Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.talks[talk{group, conversation}] {
		if r.Hold != nil && r.Of(device) && (r.Open() || r.End.Consumed.IsZero() && r.End.Undelivered == "") {
			held = append(held, r)
		}
	}
	return held
}

// endLeft ends what a hub of the same folder has left: their connections were its.
func (b *Board) endLeft() {
	b.mu.Lock()
	all := slices.Collect(maps.Values(b.records))
	b.mu.Unlock()
	b.endHeld(all)
}

// endGone ends what is held by a hub that is gone.
func (b *Board) endGone() {
	b.mu.Lock()
	var gone []*Record
	for key := range b.leases {
		if r := b.records[key]; r != nil && r.Gone {
			gone = append(gone, r)
		}
	}
	b.mu.Unlock()
	b.endHeld(gone)
}

// endHeld ends those of the questions that are held, and says of answers that came
// that they were of no use.
func (b *Board) endHeld(list []*Record) {
	for _, r := range list {
		var err error
		switch {
		case r.Hold == nil:
		case r.Open():
			_, err = b.settle(b.own, r, &End{Outcome: convert.Disconnected.String(), Reason: lost}, nil)
		case r.End.Delivered.IsZero() && r.End.Undelivered == "":
			_, err = b.Refuse(b.own, r.Ref(), lost)
		}
		if err != nil && !errors.Is(err, ErrSettled) {
			b.log.Warn("a question whose connection has ended could not be taken back", "err", err)
		}
	}
}
