package picker

import "time"

// HandsOff is how long no key must have come before one counts that follows
// keys which were meant for something else.
const HandsOff = 400 * time.Millisecond

// guard keeps keys away that were typed for something that was on the screen
// before.
type guard struct {
	last time.Time // when the picker opened, or the last key that it kept away
	ask  bool      // the user has to say that the new question was seen
}

// Guard is for a picker that opens while keys may still come that were meant
// for something else: none counts before the hands have rested. After a
// question was withdrawn under the reader's eyes, the user has to press Enter
// first, which answers nothing.
func (p *Picker) Guard(now time.Time, withdrawn bool) {
	p.guard = &guard{last: now, ask: withdrawn}
	p.settle()
}

// keeps reports whether an event of that time is kept away; name is the key's.
func (p *Picker) keeps(at time.Time, name string) bool {
	g := p.guard
	if g == nil {
		return false
	}
	rested := at.Sub(g.last) >= HandsOff
	g.last = at
	switch {
	case !rested:
		if !g.ask {
			p.message = "Typed before this question was there: ignored"
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
const guardText = "The question before this one was withdrawn. Press Enter to answer this one."
