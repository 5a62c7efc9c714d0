package seen

import "time"

// Typing judges what is typed at a terminal, over one showing after the other: nothing
// counts before its showing is drawn, nor until the hands have rested there. The zero
// value is a showing that is not drawn yet.
type Typing struct {
	evidence Evidence
	drawn    time.Time // as it is now
	last     time.Time // when it was first drawn, or the last key that did not count
	rested   bool      // a key of this showing has counted
	known    bool      // nothing has happened since it was drawn
}

// Shows is called when something else is to be shown.
func (t *Typing) Shows() { *t = Typing{} }

// Changes is called when a key has changed what is shown: what was typed before that is
// drawn was typed blindly.
func (t *Typing) Changes() { t.evidence, t.known = None, false }

// Drawn says when all of it was drawn: the first time counts. It reports whether
// something has happened since the last time: then the hands' rest is to be looked for,
// see [Inlet.Watch].
func (t *Typing) Drawn(at time.Time) (news bool) {
	news, t.known = !t.known, true
	if t.evidence != None {
		return news
	}
	t.evidence, t.drawn = Drawn, at
	if t.last.IsZero() {
		t.last = at
	}
	return news
}

// Counts judges a key or a line that was typed then, or later.
func (t *Typing) Counts(at time.Time) bool {
	t.known = false
	r := Reply{Kind: Key, Evidence: t.evidence, Rested: t.rested, After: at.Sub(t.last)}
	if t.rested || at.Before(t.drawn) {
		r.After = at.Sub(t.drawn)
	}
	if Judge(r) == Counts {
		t.rested = true
		return true
	}
	if t.evidence != None && at.After(t.last) {
		t.last = at
	}
	return false
}

// Takes judges text that was typed or pasted then where text is typed: it answers
// nothing yet, so the hands need to have rested and no more.
func (t *Typing) Takes(at time.Time) bool { return t.rested || t.Counts(at) }
