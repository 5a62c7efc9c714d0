package web

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/claude/hook"
)

// passTime is how long a blocked call may take to be made again.
const passTime = 5 * time.Minute

// pass is a person's yes to a call that auto mode has blocked: one like it runs, once, in the
// same turn, mode and folder. It is nowhere but here, and ends with the hub.
type pass struct {
	callKey
	blocked hook.Event
	by      string
	asked   time.Time
	until   time.Time
}

// arm gives a pass for a blocked call, or takes it away: two hooks may ask about one call.
func (c *calls) arm(d Device, blocked hook.Event, by string, asked time.Time, yes bool) {
	p := pass{keyAt(d, blocked), blocked, by, asked, time.Now().Add(passTime)}
	c.step(func() {
		c.drops(func(o pass) bool { return o.place == p.place && o.blocked.ToolUse == blocked.ToolUse })
		if yes {
			c.passes = append(c.passes, p)
		}
		c.became(crossing{p.place, blocked.ToolUse}, blocked.ToolUse) // until it is used
	})
}

// askedSince takes away the pass of a call about which a person was asked anew at another hub of
// the board: what they say there counts. Of a hub with a board of its own nothing is known.
func (s *Server) askedSince(ctx context.Context, d Device, e hook.Event) {
	key := keyAt(d, e)
	mine := func(p pass) bool { return p.callKey == key }
	var at time.Time
	s.hooked.step(func() {
		if i := slices.IndexFunc(s.hooked.passes, mine); i >= 0 {
			at = s.hooked.passes[i].asked
		}
	})
	if e.Name != hook.PreToolUse || at.IsZero() {
		return
	}
	since := s.board.CatchUp(ctx) != nil
	for _, r := range s.board.Conversation(d.first(), e.Session) {
		asked, err := hook.Parse(r.Document)
		since = since || err == nil && r.Hold != nil && r.Device == d.id() && r.Asked.After(at) && keyAt(d, asked) == key
	}
	if since {
		s.hooked.step(func() { s.hooked.drops(mine) })
	}
}

// drops takes passes away, and those whose time is over.
func (c *calls) drops(these func(pass) bool) {
	c.passes = slices.DeleteFunc(c.passes, func(p pass) bool { return these(p) || !time.Now().Before(p.until) })
}

// use takes the pass of a call, if it has one, for which the blocked call is this one from
// then on. It is the same call again, or it has none.
func (c *calls) use(key callKey, e hook.Event) json.RawMessage {
	i := slices.IndexFunc(c.passes, func(p pass) bool {
		return p.callKey == key && e.Permits == p.blocked.Permits && e.Dir == p.blocked.Dir && e.Prompt == p.blocked.Prompt && e.ToolUse != p.blocked.ToolUse
	})
	if i < 0 {
		return hook.NoSay
	}
	p := c.passes[i]
	c.passes = slices.Delete(c.passes, i, i+1)
	c.became(crossing{p.place, p.blocked.ToolUse}, e.ToolUse)
	return hook.Pass(p.by, e.Permits)
}

// tells is what the model hears behind the batch of blocked calls that have a pass.
func (c *calls) tells(at place, e hook.Event) json.RawMessage {
	said := hook.NoSay
	for _, p := range c.passes {
		if p.place == at && slices.Contains(e.Calls, p.blocked.ToolUse) {
			said = p.blocked.Again(said)
		}
	}
	return said
}
