package picker

import (
	"strings"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/terminal/cells"
	"github.com/acp-bridge/acp-bridge/internal/terminal/lineask"
)

// freeBody draws the text of a question without options.
func (p *Picker) freeBody(f *frame, s *sheet, w, n int) {
	lead := strings.Repeat(" ", indent) + "> "
	lines, row, col := s.answer.Draw(w-len(lead), min(n, fieldLines))
	for i, l := range lines {
		if i > 0 {
			lead = strings.Repeat(" ", len(lead))
		}
		f.body = append(f.body, lead+l)
	}
	f.setCursor(row, len(lead)+col, p)
}

func (f *frame) setCursor(row, col int, p *Picker) {
	f.cursor = p.over == overlayNone
	f.cursorRow, f.cursorCol = row, col
}

// fieldLines is the most that typed text takes; more of it scrolls.
const fieldLines = 8

// listBody draws the list, and under the entry in focus what is typed.
func (p *Picker) listBody(f *frame, s *sheet, w, n int, d density) {
	lead := strings.Repeat(" ", indent)
	if s.edit == editFilter || !s.filter.Empty() {
		text, _, col := s.filter.Draw(max(1, w-indent-2), 1)
		f.body = append(f.body, lead+"/ "+text[0])
		if s.edit == editFilter {
			f.setCursor(0, indent+2+col, p)
		}
		if len(s.visible) == 0 {
			f.body = append(f.body, lead+"  "+p.style.Faint("No option matches"))
		}
	}
	typed, row, col := p.typed(s, w, max(1, min(n-2, fieldLines)))
	note := p.noteLines(s, w)
	box := p.list(s, w, max(1, n-len(f.body)-len(typed)-len(note)), d.brief)
	f.top, f.shown = box.from, box.to-box.from
	at := len(f.body) + box.focus
	f.body = append(f.body, box.lines[:box.focus]...)
	f.body = append(f.body, typed...)
	f.body = append(f.body, box.lines[box.focus:]...)
	f.body = append(f.body, note...)
	if len(typed) > 0 {
		f.setCursor(at+row, col, p)
	}
}

// typed draws the text or note that belongs to the entry in focus, or the
// text that was typed for Other before.
func (p *Picker) typed(s *sheet, w, n int) (lines []string, row, col int) {
	if s.edit != editText && s.edit != editNote {
		return nil, 0, 0
	}
	lead := strings.Repeat(" ", s.column())
	if s.edit == editNote {
		lead += s.noteTitle()
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

// noteLines show a note that was added, the text behind a ticked Other, and
// that picks are hidden by the filter.
func (p *Picker) noteLines(s *sheet, w int) (lines []string) {
	show := func(text string) {
		lines = append(lines, strings.Repeat(" ", indent+2)+p.style.Faint(cells.Cut(text, max(1, w-indent-2))))
	}
	if text := s.answer.Value(); text != "" && s.edit != editText && (s.ownWords || s.isOther(s.chosen)) {
		show("Other: " + clean.Line(s.shown(text)))
	}
	if note := s.note.Value(); note != "" && s.edit != editNote {
		show(s.noteTitle() + clean.Line(s.shown(note)))
	}
	if hidden := s.hiddenPicks(); hidden > 0 {
		show(lineask.Counted(hidden, "picked option does", "picked options do") + " not match the filter")
	}
	return lines
}

func (s *sheet) noteTitle() string {
	if s.closed {
		return "Reason: "
	}
	return "Note: "
}

// hiddenPicks counts picks that the filter does not let through.
func (s *sheet) hiddenPicks() (n int) {
	if len(s.visible) == len(s.rows) {
		return 0
	}
	for _, picked := range s.picked {
		if picked {
			n++
		}
	}
	for _, i := range s.visible {
		if s.picked[i] {
			n--
		}
	}
	return n
}

// column is where an entry's label begins.
func (s *sheet) column() int {
	entry := max(0, s.focused())
	return indent + 2 + cells.Width(s.mark(entry))
}

// fieldWidth is the number of columns in which the sheet's field is shown.
func (p *Picker) fieldWidth(s *sheet) int {
	w := min(p.width, textWidth)
	if s.free() {
		return max(1, w-indent-2)
	}
	if s.beside(p.width) {
		w = besideWidth(p.width)
	}
	return max(1, w-s.column())
}
