// Package picker asks questions with keys: a list to pick from, fields to type
// into, tabs where there are several questions. It draws lines and does no
// I/O; package tty brings it to a terminal.
package picker

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/terminal/cells"
	"github.com/acp-bridge/acp-bridge/internal/terminal/lineask"
	"github.com/acp-bridge/acp-bridge/internal/terminal/tty"
)

// Options say how a picker is drawn. The zero value is 80 by 24 with colours,
// until a [tty.Size] says otherwise.
type Options struct {
	NoColor       bool
	Width, Height int
	// Markdown reads the questions as that. Otherwise they are shown letter by
	// letter, as what is approved is.
	Markdown bool
	// Reasons are for a choice: the positions of options that a reason can be
	// added to, which is the answer's note.
	Reasons []int
	// Signs are for the first question: + and - mark the lines of its text that
	// a diff adds and removes.
	Signs []byte
}

// overlay is a question about the answers, which takes all keys.
type overlay int

const (
	overlayNone overlay = iota
	overlayDiscard
	overlayLong
)

// Picker is questions while they are answered: it takes events, draws itself
// and is done at some point. What it draws depends on nothing but the events
// it was given.
type Picker struct {
	sheets        []*sheet
	tab           int // len(sheets) is Submit
	over          overlay
	submitting    bool         // the overlay is about what Submit sends
	message       string       // about the last key
	pager         *cells.Pager // shown in place of all else
	guard         *guard
	width, height int
	style         cells.Style
	reviewTop     int
	frame         frame // as it is drawn
	done          bool
	outcome       convert.Outcome
}

// New returns the picker for the questions of a call.
func New(call convert.Call, o Options) *Picker {
	return build(call.Questions, false, o)
}

// NewChoice returns the picker for one pick out of the question's options, as
// for a permission request: there is no Other, and there are no notes.
func NewChoice(q convert.Question, o Options) *Picker {
	return build([]convert.Question{q}, true, o)
}

func build(questions []convert.Question, closed bool, o Options) *Picker {
	p := &Picker{width: cmp.Or(max(o.Width, 0), 80), height: cmp.Or(max(o.Height, 0), 24), style: cells.Style{NoColor: o.NoColor}}
	for i, q := range questions {
		s := newSheet(q, closed, o.Markdown, p.style)
		s.head = lineask.Head(questions, i)
		s.answer.Hidden = lineask.Secret(q)
		s.note.Hidden = s.answer.Hidden
		p.sheets = append(p.sheets, s)
	}
	if closed { // a choice has one
		p.sheets[0].reasons = o.Reasons
	}
	if len(o.Signs) > 0 && len(p.sheets) > 0 {
		p.sheets[0].text.Paint = func(i int, piece string) string {
			if i < len(o.Signs) {
				return p.style.Signed(o.Signs[i], piece)
			}
			return piece
		}
	}
	switch {
	case len(questions) == 0:
		p.finish(convert.Failed, "the call has no questions")
	case closed && len(questions[0].Options) == 0:
		p.finish(convert.Failed, "the choice has no options")
	}
	p.settle()
	return p
}

// Done returns the outcome once there is one.
func (p *Picker) Done() (convert.Outcome, bool) { return p.outcome, p.done }

// Index is the position of the option that was picked, for a single-select
// question of which several options may have the same label. It is -1 when no
// option was.
func (p *Picker) Index() int {
	if !p.done || p.outcome.Status != convert.Answered || p.sheets[0].isOther(p.sheets[0].chosen) {
		return -1
	}
	return p.sheets[0].chosen
}

// Update takes an event of package tty. It ignores all others.
func (p *Picker) Update(ev any) {
	switch ev := ev.(type) {
	case tty.Size:
		if ev.Width > 0 && ev.Height > 0 {
			hidden := p.height < leastRows
			if p.width, p.height = ev.Width, ev.Height; hidden && p.guard != nil {
				p.guard.Shows()
			}
		}
	case tty.End:
		o := Ended(ev)
		p.finish(o.Status, o.Reason)
	}
	if p.done {
		return
	}
	if k, ok := ev.(tty.Key); ok {
		ev = asPaste(k)
	}
	from := p.place()
	switch ev := ev.(type) {
	case tty.Key:
		if p.message = ""; !p.keeps(ev) {
			p.key(ev)
			p.acted(from)
		}
	case tty.Paste:
		if p.message = ""; !p.keeps(tty.Key{Text: ev.Text, Since: ev.Since}) {
			p.paste(ev.Text)
			p.acted(from)
		}
	}
	p.settle()
}

// Ended is the outcome of a question that was open at the end of a terminal.
func Ended(end tty.End) convert.Outcome {
	switch {
	case end.Typed:
		return convert.Outcome{Status: convert.Cancelled, Reason: convert.CancelMessage}
	case end.Gone:
		return convert.Outcome{Status: convert.Disconnected, Reason: end.Reason}
	case end.Told:
		return convert.Outcome{Status: convert.Failed, Reason: lineask.Withdrawn + end.Reason}
	}
	return convert.Outcome{Status: convert.Withdrawn, Reason: end.Reason}
}

// Record is one line per question that says how it was answered, for the
// scrollback. It is empty until the picker is done.
func (p *Picker) Record() []string {
	if !p.done {
		return nil
	}
	if p.outcome.Status != convert.Answered {
		if len(p.sheets) == 0 {
			return nil
		}
		what := p.sheets[0].name()
		if n := len(p.sheets); n > 1 {
			what = fmt.Sprintf("%d questions", n)
		}
		end := ": " + p.outcome.Status.String()
		if why := p.outcome.Reason; p.outcome.Status == convert.Withdrawn && why != context.Canceled.Error() {
			end = ": " + why // answered elsewhere, the turn is over
		}
		return []string{cells.Cut("✗ "+cells.Cut(what, max(8, p.width-2-cells.Width(end)))+end, p.width)}
	}
	var lines []string
	for _, s := range p.sheets {
		lines = append(lines, cells.Cut(answered("✓ ", s.name(), s.summary(), p.width), p.width))
	}
	return lines
}

// answered is a question's name and its answer on a line of w columns, of which
// the answer has at least half.
func answered(mark, name, answer string, w int) string {
	arrow := " → "
	room := w - cells.Width(mark) - cells.Width(arrow)
	name = cells.Cut(name, max(room/2, room-cells.Width(answer)))
	return mark + name + arrow + answer
}

func (p *Picker) finish(status convert.Status, reason string) {
	if p.done {
		return
	}
	p.done = true
	p.outcome = convert.Outcome{Status: status, Reason: reason}
	if status == convert.Answered {
		for _, s := range p.sheets {
			p.outcome.Answers = append(p.outcome.Answers, s.result())
		}
	}
}

// Again takes back that the user is done: answers that do not fit can be changed,
// and the others stay.
func (p *Picker) Again() {
	p.done, p.outcome = false, convert.Outcome{}
	if p.guard != nil {
		p.guard.Shows()
	}
	if s := p.sheet(); s != nil && len(s.rows) == 0 {
		s.edit = editText
	}
	p.settle()
}

// sheet is the question one is on, nil on the Submit tab.
func (p *Picker) sheet() *sheet {
	if p.tab < len(p.sheets) {
		return p.sheets[p.tab]
	}
	return nil
}

func (p *Picker) several() bool { return len(p.sheets) > 1 }

// answers counts the questions answered so far.
func (p *Picker) answers() (n int) {
	for _, s := range p.sheets {
		if s.answered() {
			n++
		}
	}
	return n
}

// unanswered is the first question without an answer, -1 if there is none.
func (p *Picker) unanswered() int {
	return slices.IndexFunc(p.sheets, func(s *sheet) bool { return !s.answered() })
}

// switchTab goes to another question or to Submit, around the ends.
func (p *Picker) switchTab(by int) {
	if !p.several() {
		return
	}
	if s := p.sheet(); s != nil {
		s.leave()
	}
	n := len(p.sheets) + 1
	p.tab = ((p.tab+by)%n + n) % n
	p.reviewTop = 0
}

// confirm takes the answer of the question one is on and goes on.
func (p *Picker) confirm() {
	s := p.sheet()
	switch {
	case s.tooLong():
		p.over = overlayLong
	case p.several():
		p.switchTab(1)
	default:
		p.finish(convert.Answered, "")
	}
}

// submit sends all answers, or goes to the question that has none: several
// questions are answered as a whole or not at all.
func (p *Picker) submit() {
	p.submitting = false
	if i := p.unanswered(); i >= 0 {
		p.tab = i
		p.message = "Not answered yet: " + p.sheets[i].name()
		return
	}
	for i, s := range p.sheets {
		if s.tooLong() {
			p.tab, p.over, p.submitting = i, overlayLong, true
			return
		}
	}
	p.finish(convert.Answered, "")
}

// escape cancels; where answers would be lost it asks first.
func (p *Picker) escape() {
	if p.several() && p.answers() > 0 {
		p.over = overlayDiscard
		return
	}
	p.finish(convert.Cancelled, convert.CancelMessage)
}
