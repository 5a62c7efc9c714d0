package picker

import (
	"time"

	"github.com/acp-bridge/acp-bridge/internal/seen"
	"github.com/acp-bridge/acp-bridge/internal/terminal/cells"
	"github.com/acp-bridge/acp-bridge/internal/terminal/tty"
)

// guard keeps keys away that were typed for something that was on the screen
// before: another question, or what a tab, an overlay or the pager hid.
type guard struct {
	seen.Typing
	ask  bool // the user has to say that the new question was seen
	went bool // a key of the user's has led here
}

// Guard is for a picker in front of a person: no key counts before it is drawn and
// the hands have rested, and again on each tab. After a question was withdrawn under
// the reader's eyes, the user has to press Enter first, which answers nothing.
func (p *Picker) Guard(withdrawn bool) {
	p.guard = &guard{ask: withdrawn}
	p.settle()
}

// Drawn says when the picker was drawn. It reports whether the terminal has to watch for
// what comes next, see [tty.Term.Watch].
func (p *Picker) Drawn(at time.Time) (watch bool) {
	return p.guard != nil && p.guard.Drawn(at)
}

// place is what a key can act on, as a person sees it.
type place struct {
	tab   int
	over  overlay
	pager *cells.Pager
}

func (p *Picker) place() place { return place{p.tab, p.over, p.pager} }

// acted is called behind a key that had an effect, with the place where it came.
func (p *Picker) acted(from place) {
	switch {
	case p.guard == nil:
	case p.place() != from:
		p.guard.Shows()
		p.guard.went = true
	default:
		p.guard.Changes()
	}
}

// keeps reports whether a key is kept away.
func (p *Picker) keeps(k tty.Key) bool {
	if p.height < leastRows {
		return k.Name != "ctrl+c"
	}
	g := p.guard
	if g == nil || g.went && moves[k.Name] {
		return false
	}
	counts := g.Counts
	if k.Text != "" && p.typing() {
		counts = g.Takes
	}
	switch {
	case !counts(k.Since):
		if !g.ask {
			p.message = "Typed before this question could be read: ignored"
		}
		return true
	case !g.ask || k.Name == "ctrl+c":
		return false
	}
	g.Shows() // the hands rest before the next key
	g.ask = k.Name != "enter" && k.Name != "esc"
	return true
}

// moves are the keys that answer nothing, whatever is on the screen.
var moves = map[string]bool{
	"up": true, "down": true, "left": true, "right": true, "home": true, "end": true, "pgup": true, "pgdown": true,
	"tab": true, "shift+tab": true,
}

// typing reports whether there is a field to type in.
func (p *Picker) typing() bool {
	s := p.sheet()
	return s != nil && s.edit != editNothing && p.over == overlayNone && p.pager == nil
}

// asPaste makes a paste of a key of a burst: it was pasted in a terminal that does not
// say so, or has waited for us. The keys that move may repeat.
func asPaste(k tty.Key) any {
	switch {
	case !k.Burst, moves[k.Name] && k.Name != "tab":
		return k
	case k.Name == "enter" || k.Name == "ctrl+j":
		k.Text = "\n"
	case k.Name == "tab":
		k.Text = "\t"
	}
	return tty.Paste{Text: k.Text, Since: k.Since}
}

// guardText says why no key counts.
const guardText = "The question before this one is gone. Press Enter to answer this one."
