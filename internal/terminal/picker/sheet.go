package picker

import (
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/terminal/cells"
	"github.com/acp-bridge/acp-bridge/internal/terminal/lineask"
)

// OtherLabel is the last entry of every question that has options.
const OtherLabel = "Other (type your answer)"

// longList is the number of options beyond which a list can be filtered.
const longList = 6

// editing says where the keys go.
type editing int

const (
	editNothing editing = iota // the list
	editText                   // an answer in the user's own words
	editNote
	editFilter
)

// sheet is one question while it is being answered: what is shown of it and
// what the user has done to it so far.
type sheet struct {
	q       convert.Question
	head    string // never empty
	named   bool   // the head is the question's own
	text    cells.Text
	rows    []row
	other   bool // Other follows the options
	closed  bool // a choice: no Other, no notes
	numbers numbering
	longest int   // lines of a preview
	reasons []int // options of a choice that take a note

	visible []int  // rows that the filter lets through
	focus   int    // position in the list
	top     int    // first entry drawn
	page    int    // entries drawn, less one
	typed   string // digits of a number
	edit    editing

	chosen   int    // single-select: the row picked, other's index, or -1
	picked   []bool // multi-select, per row
	ownWords bool   // multi-select: the typed text counts
	approved string // the long text that the user said to send
	answer   Field
	note     Field
	oldNote  string
	oldText  string // of the answer, before it was changed
	filter   Field
}

// row is an option as it is shown.
type row struct {
	label       string
	description string
	preview     []string
	searched    string // by the filter: lower case
}

// newSheet is the sheet of a question, whose text is read as Markdown or shown letter by
// letter.
func newSheet(q convert.Question, closed, markdown bool, look cells.Style) *sheet {
	closed = closed || q.Closed
	s := &sheet{
		q:      q,
		head:   clean.Line(q.Header),
		text:   cells.Text{Lines: lineask.Paragraph(q.Text)},
		other:  len(q.Options) > 0 && !closed,
		closed: closed,
		chosen: -1,
		picked: make([]bool, len(q.Options)),
	}
	if markdown {
		s.text.Lines = cells.MarkdownLines(look, s.text.Lines)
	}
	s.answer.Lines = true
	for i, o := range q.Options {
		r := row{label: lineask.Label(o), description: clean.Line(o.Description)}
		if markdown {
			r.description = cells.MarkdownInline(cells.Bare, r.description)
		}
		if strings.TrimSpace(o.Preview) != "" {
			r.preview = lineask.Paragraph(o.Preview)
			s.longest = max(s.longest, len(r.preview))
		}
		r.searched = strings.ToLower(r.label + "\n" + r.description)
		s.rows = append(s.rows, r)
		s.visible = append(s.visible, i)
	}
	if len(s.rows) == 0 {
		s.edit = editText
	}
	s.named = s.head != ""
	s.numbers = s.numberAs()
	return s
}

// name is what the question is called once it is off the screen. A choice is
// called by what was chosen about.
func (s *sheet) name() string {
	text := clean.Line(cells.Plain(s.text.Lines[0]))
	switch {
	case s.closed && s.named && text != "":
		return s.head + ": " + text
	case s.named || text == "":
		return s.head
	}
	return text
}

// long reports whether the list can be filtered.
func (s *sheet) long() bool { return len(s.rows) > longList }

// notable reports whether a note can be added to an entry.
func (s *sheet) notable(entry int) bool {
	if s.closed {
		return slices.Contains(s.reasons, entry)
	}
	return entry >= 0 && !s.isOther(entry)
}

// standAlone takes away what cannot be picked beside an entry.
func (s *sheet) standAlone(entry int) {
	alone := func(i int) bool { return s.q.Options[i].Effect != 0 }
	for i := range s.picked {
		if i != entry && (alone(i) || alone(entry)) {
			s.picked[i] = false
		}
	}
	if alone(entry) {
		s.ownWords = false
	}
}

// free reports whether the question is answered with text alone.
func (s *sheet) free() bool { return len(s.rows) == 0 }

// single reports whether one entry is picked, not several.
func (s *sheet) single() bool { return !s.q.MultiSelect }

// count is the number of entries in the list: the rows that the filter lets
// through, and Other.
func (s *sheet) count() int {
	if s.other {
		return len(s.visible) + 1
	}
	return len(s.visible)
}

// entry is the row that is i-th in the list; the index after the last row is
// Other.
func (s *sheet) entry(i int) int {
	if i == len(s.visible) {
		return len(s.rows)
	}
	return s.visible[i]
}

// focused is the entry in focus, -1 where there is none.
func (s *sheet) focused() int {
	if s.focus < s.count() {
		return s.entry(s.focus)
	}
	return -1
}

func (s *sheet) isOther(entry int) bool { return s.other && entry == len(s.rows) }

// focusOn moves the focus to an entry, if it is in the list.
func (s *sheet) focusOn(entry int) bool {
	i, ok := slices.BinarySearch(s.visible, entry)
	if !ok && !s.isOther(entry) {
		return false
	}
	s.focus = i
	return true
}

// move moves the focus, around the ends.
func (s *sheet) move(by int) {
	if n := s.count(); n > 0 {
		s.focus = ((s.focus+by)%n + n) % n
	}
}

// jump moves the focus without going around the ends.
func (s *sheet) jump(by int) {
	s.focus = max(0, min(s.count()-1, s.focus+by))
}

// applyFilter narrows the list to what the filter's text occurs in.
func (s *sheet) applyFilter() {
	want := strings.ToLower(s.filter.Value())
	s.visible = s.visible[:0:0]
	for i, r := range s.rows {
		if want == "" || strings.Contains(r.searched, want) {
			s.visible = append(s.visible, i)
		}
	}
	s.focus, s.top = 0, 0
}

// clearFilter shows the whole list again, with the focus where it was.
func (s *sheet) clearFilter() {
	entry := s.focused()
	s.filter.Clear()
	s.applyFilter()
	if entry >= 0 {
		s.focusOn(entry)
	}
	s.edit = editNothing
}

// result is the answer as it stands.
func (s *sheet) result() convert.Answer {
	var a convert.Answer
	typed := s.answer.Value()
	switch {
	case s.free(), s.single() && s.isOther(s.chosen):
		a.Text = typed
	case s.single() && s.chosen >= 0:
		a.Selected = []string{s.q.Options[s.chosen].Label}
	case s.q.MultiSelect:
		for i, p := range s.picked {
			if p {
				a.Selected = append(a.Selected, s.q.Options[i].Label)
			}
		}
		if s.ownWords {
			a.Text = typed
		}
	}
	if !a.Empty() && (!s.closed || s.notable(s.chosen)) {
		a.Note = s.note.Value()
	}
	return a
}

func (s *sheet) answered() bool { return !s.result().Empty() }

// tooLong reports whether the answer's text is long and the user has not yet
// said to send it.
func (s *sheet) tooLong() bool {
	text := s.result().Text
	return s.approved != text && s.answer.Length() > lineask.LongAnswer
}

// leave keeps what was typed when the user goes to another question.
func (s *sheet) leave() {
	switch s.edit {
	case editText:
		if s.free() {
			return
		}
		s.keepText()
	case editFilter:
		s.clearFilter()
	}
	s.edit = editNothing
}

// editOther lets the user type an answer.
func (s *sheet) editOther() { s.edit, s.oldText = editText, s.answer.String() }

// keepText makes the typed text the answer, or part of it.
func (s *sheet) keepText() {
	typed := s.answer.Value() != ""
	switch {
	case s.free():
	case s.q.MultiSelect:
		if s.ownWords = typed; typed {
			for i := range s.picked { // an option that stands alone has no words beside it
				s.picked[i] = s.picked[i] && s.q.Options[i].Effect == 0
			}
		}
	case typed:
		s.chosen = len(s.rows)
	case s.isOther(s.chosen):
		s.chosen = -1
	}
}

// summary is the answer on one line.
func (s *sheet) summary() string {
	a := s.result()
	a.Text, a.Note = s.shown(a.Text), s.shown(a.Note)
	items := a.Items()
	for i, t := range items {
		items[i] = clean.Line(t)
	}
	out := strings.Join(items, ", ")
	if a.Note != "" {
		out += " (note: " + clean.Line(a.Note) + ")"
	}
	return out
}

// shown is typed text where it is not being typed.
func (s *sheet) shown(text string) string {
	if s.answer.Hidden && text != "" {
		return lineask.NotShown
	}
	return text
}
