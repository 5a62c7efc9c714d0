package picker

import (
	"fmt"
	"strings"

	"github.com/acp-bridge/acp-bridge/adapter/internal/cells"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

const (
	ruleWidth = 60  // of the lines above and below
	textWidth = 100 // beyond which text is hard to read
	wide      = 90  // from which a preview stands beside the list
)

// View draws the picker: no more lines than the window has, each no wider
// than it, and where in them the cursor is; a negative row hides it. Once done
// it draws nothing.
func (m *Picker) View() (lines []string, row, col int) {
	if m.done {
		return nil, -1, 0
	}
	f := m.fit()
	lines = f.lines()
	if len(lines) > m.height {
		// Only a window of a few lines gets here; the focus comes last.
		lines = lines[len(lines)-m.height:]
		f.cursorRow -= f.total() - m.height
	}
	for i, l := range lines {
		if cells.Width(l) > m.width {
			lines[i] = cells.Cut(l, m.width)
		}
	}
	if !f.cursor {
		return lines, -1, 0
	}
	return lines, f.cursorRow, min(f.cursorCol, m.width-1)
}

// frame is a screen in its parts, from top to bottom.
type frame struct {
	rule   string
	head   []string
	text   []string
	body   []string
	foot   []string
	blanks bool

	top                  int // first entry of what scrolls
	cursor               bool
	cursorRow, cursorCol int // in the body until lines is called
}

func (f *frame) lines() []string {
	var out []string
	gap := func() {
		if f.blanks && len(out) > 0 {
			out = append(out, "")
		}
	}
	if f.rule != "" {
		out = append(out, f.rule)
	}
	if len(f.head) > 0 {
		out = append(out, f.head...)
		gap()
	}
	if len(f.text) > 0 {
		out = append(out, f.text...)
		gap()
	}
	f.cursorRow += len(out)
	out = append(out, f.body...)
	if len(f.foot) > 0 {
		gap()
		out = append(out, f.foot...)
	}
	if f.rule != "" {
		out = append(out, f.rule)
	}
	return out
}

// total is the number of lines.
func (f *frame) total() int {
	n := len(f.head) + len(f.text) + len(f.body) + len(f.foot)
	if f.rule != "" {
		n += 2
	}
	if f.blanks {
		for _, part := range [][]string{f.head, f.text, f.foot} {
			if len(part) > 0 {
				n++
			}
		}
	}
	return n
}

// density says what is left out where the height does not allow all of it.
type density struct {
	extra, blanks, rules, foot, head bool
	text                             int // lines of the question
	brief                            brief
}

// densities go from all to almost nothing.
var densities = []density{
	{extra: true, blanks: true, rules: true, foot: true, head: true, text: unlimited, brief: descAll},
	{blanks: true, rules: true, foot: true, head: true, text: unlimited, brief: descAll},
	{blanks: true, foot: true, head: true, text: unlimited, brief: descAll},
	{foot: true, head: true, text: unlimited, brief: descAll},
	{foot: true, head: true, text: halfOfIt, brief: descFocus},
	{foot: true, head: true, text: 2, brief: descNone},
	{head: true, text: 2, brief: descNone},
	{text: 1, brief: descNone},
	{brief: descNone},
}

const (
	unlimited = 1 << 16 // more lines than any window has
	halfOfIt  = -1      // of the window's lines
)

// scrolls is the density from which a body that does not fit is cut, and the
// fewest lines it must be left with before more is left out around it.
const (
	scrolls  = 4
	fewLines = 4
)

// fit draws the screen as fully as the height allows: the first density at
// which everything fits, else the first from scrolls on that leaves the body a
// few lines. A preview takes the lines that are left.
func (m *Picker) fit() frame {
	for _, d := range densities[:scrolls+1] {
		f := m.frame(d, unlimited, fewLines)
		spare := m.height - f.total()
		switch s := m.sheet(); {
		case spare < 0:
			continue
		case spare > 0 && s != nil && s.previews() > fewLines:
			return m.frame(d, unlimited, min(fewLines+spare, previewLines))
		}
		return f
	}
	last := densities[len(densities)-1]
	for _, d := range densities[scrolls:] {
		f := m.frame(d, 1, 0)
		room := m.height - (f.total() - len(f.body))
		if room >= fewLines {
			return m.frame(d, room, room)
		}
		last = d
	}
	return m.frame(last, max(1, m.height), 0)
}

// frame draws the screen at one density, with a body of at most n lines and a
// preview of at most p.
func (m *Picker) frame(d density, n, p int) frame {
	s := m.sheet()
	w := min(m.width, textWidth)
	if s != nil && s.beside(m.width) {
		w = m.width
	}
	f := frame{blanks: d.blanks}
	if d.rules {
		f.rule = strings.Repeat("─", min(m.width, ruleWidth))
	}
	if d.head {
		f.head = m.headLines(w)
	}
	f.foot = m.footLines(w, d)
	if s != nil {
		f.text = m.textLines(s, w, d.text)
		m.body(&f, s, w, n, p, d)
		return f
	}
	if d.text > 0 {
		f.text = []string{strings.Repeat(" ", indent) + m.style.Strong("Review your answers")}
	}
	f.body, f.top = m.summary(w, n)
	return f
}

// textLines draws the question. Lines that the question breaks itself stand
// behind a bar, so that none of them can pass for an option.
func (m *Picker) textLines(s *sheet, w, n int) []string {
	lead := strings.Repeat(" ", indent)
	if len(s.text) > 1 {
		lead += "│ "
	}
	if n == halfOfIt {
		n = m.height / 2
	}
	room := max(1, w-cells.Width(lead))
	var lines []string
	for _, t := range s.text {
		lines = append(lines, cells.Wrap(t, room)...)
	}
	if over := len(lines) - n; over > 0 && n > 2 {
		lines = append(lines[:n-1], cells.Cut(fmt.Sprintf("… %d more lines", over+1), room))
	} else {
		lines = cells.AtMost(lines, n, room)
	}
	for i, l := range lines {
		if l != "" {
			l = m.style.Strong(l)
		}
		lines[i] = strings.TrimRight(lead, " ")
		if l != "" {
			lines[i] = lead + l
		}
	}
	return lines
}

// body draws what is answered: the list with what is typed into it, or the
// text.
func (m *Picker) body(f *frame, s *sheet, w, n, p int, d density) {
	switch {
	case s.free():
		m.freeBody(f, s, w, n)
	case s.beside(m.width):
		left := besideWidth(w)
		m.listBody(f, s, left, n, d)
		f.body = m.previewBeside(s, f.body, left, w, min(n, p))
	default:
		m.listBody(f, s, w, n, d)
		if p = min(n-len(f.body)-1, p); s.previews() > 0 && p >= 2 && s.edit == editNothing {
			f.body = append(f.body, "")
			f.body = append(f.body, m.previewBelow(s, w, p)...)
		}
	}
}

// freeBody draws the text of a question without options.
func (m *Picker) freeBody(f *frame, s *sheet, w, n int) {
	lead := strings.Repeat(" ", indent) + "> "
	lines, row, col := s.answer.Draw(w-len(lead), min(n, fieldLines))
	for i, l := range lines {
		if i > 0 {
			lead = strings.Repeat(" ", len(lead))
		}
		f.body = append(f.body, lead+l)
	}
	f.setCursor(row, len(lead)+col, m)
}

func (f *frame) setCursor(row, col int, m *Picker) {
	f.cursor = m.over == overlayNone
	f.cursorRow, f.cursorCol = row, col
}

// fieldLines is the most that typed text takes; more of it scrolls.
const fieldLines = 8

// listBody draws the list, and under the entry in focus what is typed.
func (m *Picker) listBody(f *frame, s *sheet, w, n int, d density) {
	lead := strings.Repeat(" ", indent)
	if s.edit == editFilter || !s.filter.Empty() {
		text, _, col := s.filter.Draw(max(1, w-indent-2), 1)
		f.body = append(f.body, lead+"/ "+text[0])
		if s.edit == editFilter {
			f.setCursor(0, indent+2+col, m)
		}
		if len(s.visible) == 0 {
			f.body = append(f.body, lead+"  "+m.style.Faint("No option matches"))
		}
	}
	typed, row, col := m.typed(s, w, max(1, min(n-2, fieldLines)))
	note := m.noteLine(s, w)
	box := m.list(s, w, max(1, n-len(f.body)-len(typed)-len(note)), d.brief)
	f.top = box.from
	at := len(f.body) + box.focus
	f.body = append(f.body, box.lines[:box.focus]...)
	f.body = append(f.body, typed...)
	f.body = append(f.body, box.lines[box.focus:]...)
	f.body = append(f.body, note...)
	if len(typed) > 0 {
		f.setCursor(at+row, col, m)
	}
}

// typed draws the text or note that belongs to the entry in focus, or the
// text that was typed for Other before.
func (m *Picker) typed(s *sheet, w, n int) (lines []string, row, col int) {
	if s.edit != editText && s.edit != editNote {
		return nil, 0, 0
	}
	lead := strings.Repeat(" ", s.column())
	if s.edit == editNote {
		lead += "Note: "
	}
	text, row, col := s.field().Draw(w-len(lead), n)
	for i, l := range text {
		if i > 0 {
			lead = strings.Repeat(" ", len(lead))
		}
		lines = append(lines, lead+l)
	}
	return lines, row, len(lead) + col
}

// noteLine shows a note that was added, and the text behind a ticked Other.
func (m *Picker) noteLine(s *sheet, w int) (lines []string) {
	show := func(what, text string) {
		lines = append(lines, strings.Repeat(" ", indent+2)+
			m.style.Faint(cells.Cut(what+": "+clean.Line(text), max(1, w-indent-2))))
	}
	if text := s.answer.Value(); text != "" && s.edit != editText && (s.ownWords || s.isOther(s.chosen)) {
		show("Other", text)
	}
	if note := s.note.Value(); note != "" && s.edit != editNote {
		show("Note", note)
	}
	return lines
}

// column is where an entry's label begins.
func (s *sheet) column() int {
	entry := max(0, s.focused())
	return indent + 2 + cells.Width(s.mark(entry))
}

// fieldWidth is the number of columns in which the sheet's field is shown.
func (m *Picker) fieldWidth(s *sheet) int {
	w := min(m.width, textWidth)
	if s.free() {
		return max(1, w-indent-2)
	}
	if s.beside(m.width) {
		w = besideWidth(m.width)
	}
	return max(1, w-s.column())
}

// settle brings what scrolls in line with the focus and the window.
func (m *Picker) settle() {
	s := m.sheet()
	if s == nil {
		m.summaryTop = m.fit().top
		return
	}
	if !s.free() {
		s.focus = max(0, min(s.focus, s.count()-1))
		s.top = m.fit().top
	}
}
