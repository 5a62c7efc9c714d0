package picker

import (
	"time"

	"github.com/acp-bridge/acp-bridge/internal/seen"
)

// guard keeps keys away that were typed for something that was on the screen
// before.
type guard struct {
	shown seen.Evidence
	last  time.Time // when it was drawn, or the last key that was kept away
	ask   bool      // the user has to say that the new question was seen
}

// Guard is for a picker in front of a person: no key counts before it is drawn and
// the hands have rested. After a question was withdrawn under the reader's eyes,
// the user has to press Enter first, which answers nothing.
func (p *Picker) Guard(withdrawn bool) {
	p.guard = &guard{ask: withdrawn}
	p.settle()
}

// Drawn says when the picker was drawn: the first time counts.
func (p *Picker) Drawn(at time.Time) {
	if g := p.guard; g != nil && g.shown == seen.None {
		g.shown, g.last = seen.Drawn, at
	}
}

// keeps reports whether an event of that time is kept away; name is the key's.
func (p *Picker) keeps(at time.Time, name string) bool {
	g := p.guard
	if g == nil {
		return false
	}
	early := seen.Judge(seen.Reply{Kind: seen.Key, Evidence: g.shown, After: at.Sub(g.last)}) != seen.Counts
	if g.shown != seen.None {
		g.last = at
	}
	switch {
	case early:
		if !g.ask {
			p.message = "Typed before this question appeared: ignored"
		}
		return true
	case !g.ask || name == "ctrl+c":
		p.guard = nil
		return false
	}
	g.ask = name != "enter" && name != "esc"
	return true
}

// guardText says why no key counts.
const guardText = "The question before this one is gone. Press Enter to answer this one."
