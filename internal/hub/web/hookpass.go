package web

import (
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
	until   time.Time
}

// arm gives a pass for a blocked call, or takes it away: two hooks may ask about one call.
func (c *calls) arm(d Device, blocked hook.Event, by string, yes bool) {
	p := pass{keyAt(d, blocked), blocked, by, time.Now().Add(passTime)}
	c.step(func() {
		c.drops(func(o pass) bool { return o.place == p.place && o.blocked.ToolUse == blocked.ToolUse })
		if yes {
			c.passes = append(c.passes, p)
		}
		c.became(crossing{p.place, blocked.ToolUse}, blocked.ToolUse) // until it is used
	})
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
