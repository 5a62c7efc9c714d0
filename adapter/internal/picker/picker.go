// Package picker asks questions with keys: a list to pick from, fields to type
// into, tabs where there are several questions. It draws lines and does no
// I/O; package tty brings it to a terminal.
package picker

import (
	"fmt"

	"github.com/acp-bridge/acp-bridge/adapter/internal/cells"
	"github.com/acp-bridge/acp-bridge/adapter/internal/tty"
	"github.com/acp-bridge/acp-bridge/convert"
)

// overlay is a question about the answers, which takes all keys.
type overlay int

const (
	overlayNone overlay = iota
	overlayDiscard
	overlayLong
)

// Options say how a picker is drawn. The zero value is 80 by 24 with colours,
// until a [tty.Size] says otherwise.
type Options struct {
	NoColor       bool
	Width, Height int
}

// Picker is questions while they are answered: it takes events, draws itself
// and is done at some point. What it draws depends on nothing but the events
// it was given.
type Picker struct {
	sheets        []*sheet
	tab           int // len(sheets) is Submit
	over          overlay
	submitting    bool   // the overlay is about what Submit sends
	message       string // about the last key
	width, height int
	style         cells.Style
	guard         *guard
	summaryTop    int
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
	m := &Picker{width: o.Width, height: o.Height, style: cells.Style{NoColor: o.NoColor}}
	if m.width <= 0 {
		m.width = 80
	}
	if m.height <= 0 {
		m.height = 24
	}
	for i, q := range questions {
		s := newSheet(q, closed)
		if s.head == "" && len(questions) > 1 {
			s.head = fmt.Sprintf("Q%d", i+1)
		} else if s.head == "" {
			s.head = "Question"
		}
		m.sheets = append(m.sheets, s)
	}
	switch {
	case len(questions) == 0:
		m.finish(convert.Failed, "the call has no questions")
	case closed && len(questions[0].Options) == 0:
		m.finish(convert.Failed, "the choice has no options")
	}
	return m
}

// Done returns the outcome once there is one.
func (m *Picker) Done() (convert.Outcome, bool) { return m.outcome, m.done }

// Index is the position of the option that was picked, for a single-select
// question of which several options may have the same label. It is -1 when no
// option was.
func (m *Picker) Index() int {
	if !m.done || m.outcome.Status != convert.Answered || m.sheets[0].isOther(m.sheets[0].chosen) {
		return -1
	}
	return m.sheets[0].chosen
}

// Update takes an event of package tty. It ignores all others.
func (m *Picker) Update(ev any) {
	switch ev := ev.(type) {
	case tty.Size:
		if ev.Width > 0 && ev.Height > 0 {
			m.width, m.height = ev.Width, ev.Height
		}
	case tty.End:
		if ev.Gone {
			m.finish(convert.Disconnected, ev.Reason)
		} else {
			m.finish(convert.Cancelled, ev.Reason)
		}
	}
	if m.done {
		return
	}
	switch ev := ev.(type) {
	case tty.Key:
		m.message = ""
		if !m.keeps(ev.At, ev.Name) {
			m.key(ev)
		}
	case tty.Paste:
		m.message = ""
		if !m.keeps(ev.At, "") {
			m.paste(ev.Text)
		}
	}
	m.settle()
}

// Record is one line per question that says how it was answered, for the
// scrollback. It is empty until the picker is done.
func (m *Picker) Record() []string {
	if !m.done {
		return nil
	}
	if m.outcome.Status != convert.Answered {
		if len(m.sheets) == 0 {
			return nil
		}
		what := m.sheets[0].head
		if n := len(m.sheets); n > 1 {
			what = fmt.Sprintf("%d questions", n)
		}
		return []string{cells.Cut(fmt.Sprintf("✗ %s: %s", what, m.outcome.Status), m.width)}
	}
	var lines []string
	for _, s := range m.sheets {
		lines = append(lines, cells.Cut("✓ "+s.head+": "+s.summary(), m.width))
	}
	return lines
}

func (m *Picker) finish(status convert.Status, reason string) {
	if m.done {
		return
	}
	m.done = true
	m.outcome = convert.Outcome{Status: status, Reason: reason}
	if status == convert.Answered {
		for _, s := range m.sheets {
			m.outcome.Answers = append(m.outcome.Answers, s.result())
		}
	}
}

// Again takes back that the user is done: answers that do not fit can be changed,
// and the others stay.
func (m *Picker) Again() {
	m.done, m.outcome = false, convert.Outcome{}
	if s := m.sheet(); s != nil && len(s.rows) == 0 {
		s.edit = editText
	}
}

// sheet is the question one is on, nil on the Submit tab.
func (m *Picker) sheet() *sheet {
	if m.tab < len(m.sheets) {
		return m.sheets[m.tab]
	}
	return nil
}

func (m *Picker) several() bool { return len(m.sheets) > 1 }

// answers counts the questions answered so far.
func (m *Picker) answers() (n int) {
	for _, s := range m.sheets {
		if s.answered() {
			n++
		}
	}
	return n
}

// unanswered is the first question without an answer, -1 if there is none.
func (m *Picker) unanswered() int {
	for i, s := range m.sheets {
		if !s.answered() {
			return i
		}
	}
	return -1
}

// switchTab goes to another question or to Submit, around the ends.
func (m *Picker) switchTab(by int) {
	if !m.several() {
		return
	}
	if s := m.sheet(); s != nil {
		s.leave()
	}
	n := len(m.sheets) + 1
	m.tab = ((m.tab+by)%n + n) % n
	m.summaryTop = 0
}

// confirm takes the answer of the question one is on and goes on.
func (m *Picker) confirm() {
	s := m.sheet()
	switch {
	case s.tooLong():
		m.over = overlayLong
	case m.several():
		m.switchTab(1)
	default:
		m.finish(convert.Answered, "")
	}
}

// submit sends all answers, or goes to the question that has none: several
// questions are answered as a whole or not at all.
func (m *Picker) submit() {
	m.submitting = false
	if i := m.unanswered(); i >= 0 {
		m.tab = i
		m.message = "Not answered yet: " + m.sheets[i].head
		return
	}
	for i, s := range m.sheets {
		if s.tooLong() {
			m.tab, m.over, m.submitting = i, overlayLong, true
			return
		}
	}
	m.finish(convert.Answered, "")
}

// escape cancels; where answers would be lost it asks first.
func (m *Picker) escape() {
	if m.several() && m.answers() > 0 {
		m.over = overlayDiscard
		return
	}
	m.finish(convert.Cancelled, convert.CancelMessage)
}
