package backend

import "github.com/acp-bridge/acp-bridge/internal/claude"

// choices are what a session's options are set to. They are a value: whoever
// changes them makes others, and whoever reads them has all as they were at once.
type choices struct {
	mode       string
	model      string          // empty for the CLI's own choice
	settings   claude.Settings // as the CLI last told
	asks, told int             // count how often it was asked, and which of these that was
	effort     string          // what the user picked; empty for Claude Code's own
	fast       bool
	fastPicked bool   // by the user, so it holds for the next process too
	fastOff    string // why the CLI does not have it on
	// ultracode is what the user picked: a process that is started anew does not
	// know it.
	ultracode *bool
	lead      *string // the main agent that the user picked; empty for Claude Code's own
}

// choose changes the choices, and returns them as they were and as they are. The
// function may be called more than once: it must do nothing else.
func (s *conversation) choose(change func(*choices)) (before, now *choices) {
	for {
		before = s.chosen.Load()
		next := *before
		change(&next)
		if s.chosen.CompareAndSwap(before, &next) {
			return before, &next
		}
	}
}

// take takes an option as others have it.
func (c *choices) take(option string, from *choices) {
	switch option {
	case modeOption:
		c.mode = from.mode
	case modelOption:
		c.model = from.model
	case effortOption:
		c.effort = from.effort
	case fastOption:
		c.fast, c.fastPicked = from.fast, from.fastPicked
	case ultracodeOption:
		c.ultracode = from.ultracode
	case agentOption:
		c.lead = from.lead
	}
}

// picks are the settings to give to a process that is started anew.
func (c *choices) picks() map[string]any {
	picks := map[string]any{}
	if c.effort != "" {
		picks["effortLevel"] = c.effort
	}
	if c.fastPicked {
		picks["fastMode"] = c.fast
	}
	if c.ultracode != nil {
		picks["ultracode"] = *c.ultracode
	}
	if c.lead != nil {
		picks["agent"] = orNil(*c.lead)
	}
	return picks
}
