package picker

import (
	"strings"

	"github.com/acp-bridge/acp-bridge/internal/terminal/cells"
)

const (
	ruleWidth = 60  // of the lines above and below
	textWidth = 100 // beyond which text is hard to read
	wide      = 90  // from which a preview stands beside the list
	leastRows = 3   // below which a question and its options are not seen together
	tooSmall  = "Make this window taller to answer."
)

// View draws the picker: no more lines than the window has, each no wider
// than it, and where in them the cursor is; a negative row hides it. Once done
// it draws nothing.
func (p *Picker) View() (lines []string, row, col int) {
	switch {
	case p.done:
		return nil, -1, 0
	case p.height < leastRows:
		return []string{cells.Cut(tooSmall, p.width)}, -1, 0
	}
	f := p.frame
	lines, row = f.lines()
	if over := len(lines) - p.height; over > 0 {
		// Only a window of a few lines gets here; the focus comes last.
		lines, row = lines[over:], row-over
	}
	for i, l := range lines {
		if cells.Width(l) > p.width {
			lines[i] = cells.Cut(l, p.width)
		}
	}
	if !f.cursor {
		return lines, -1, 0
	}
	return lines, row, min(f.cursorCol, p.width-1)
}

// frame is a screen in its parts, from top to bottom.
type frame struct {
	rule   string
	head   []string
	text   []string
	body   []string
	foot   []string
	blanks bool

	top, shown           int // first entry of what scrolls, and how many there are
	cursor               bool
	cursorRow, cursorCol int // in the body
}

// lines are all of it, and the row of the cursor.
func (f *frame) lines() (out []string, row int) {
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
	row = len(out) + f.cursorRow
	out = append(out, f.body...)
	if len(f.foot) > 0 {
		gap()
		out = append(out, f.foot...)
	}
	if f.rule != "" {
		out = append(out, f.rule)
	}
	return out, row
}

func (f *frame) height() int {
	lines, _ := f.lines()
	return len(lines)
}

// density says what is left out where the height does not allow all of it.
type density struct {
	extra, blanks, rules, foot, head bool
	brief                            brief
}

// full are densities that show all of the question and all entries, from all
// around them to almost nothing; cut are those that cut them, as far as need be.
var (
	full = []density{
		{extra: true, blanks: true, rules: true, foot: true, head: true, brief: descAll},
		{blanks: true, rules: true, foot: true, head: true, brief: descAll},
		{blanks: true, foot: true, head: true, brief: descAll},
		{foot: true, head: true, brief: descAll},
		{foot: true, head: true, brief: descFocus},
	}
	cut = []density{
		{foot: true, head: true, brief: descFocus},
		{foot: true, head: true, brief: descNone},
		{head: true, brief: descNone},
		{brief: descNone},
	}
)

const (
	unlimited = 1 << 30
	fewLines  = 4 // what the body has at least, if more than that is left out around it
	fewText   = 3 // what a question is cut to at most, before the body gets fewer lines
)

// fit draws the screen as fully as the height allows: the first density at
// which everything fits, else the first that leaves the question and the body
// a few lines.
func (p *Picker) fit() frame {
	if p.pager != nil {
		return frame{body: p.pager.View(p.style, p.width, p.height)}
	}
	s := p.sheet()
	if s == nil || s.count()+s.textHeight(p.textWidth(s)) <= p.height {
		for _, d := range full {
			f := p.draw(d, unlimited, unlimited, fewLines)
			spare := p.height - f.height()
			switch {
			case spare < 0:
				continue
			case spare > 0 && s != nil && s.longest > fewLines:
				return p.draw(d, unlimited, unlimited, fewLines+spare)
			}
			return f
		}
	}
	for _, d := range cut {
		f := p.draw(d, 0, 1, 0)
		rest := max(1, p.height-(f.height()-len(f.body)))
		text := 0
		if s != nil {
			text = s.textHeight(p.textWidth(s))
		}
		if d.head && rest < fewLines+min(text, fewText) {
			continue
		}
		// The body has what it needs, and the question the rest, but half of the
		// lines at least.
		body := len(p.draw(d, 0, rest, 0).body)
		text = min(text, max(rest-body, min(rest/2, rest-1)))
		return p.draw(d, text, max(1, rest-text), rest-text)
	}
	return frame{}
}

// textWidth is the width of what is drawn for a question.
func (p *Picker) textWidth(s *sheet) int {
	if s != nil && s.beside(p.width) {
		return p.width
	}
	return min(p.width, textWidth)
}

// draw draws the screen at one density, with at most text lines of the
// question, a body of at most n lines and a preview of at most preview.
func (p *Picker) draw(d density, text, n, preview int) frame {
	s := p.sheet()
	w := p.textWidth(s)
	f := frame{blanks: d.blanks}
	if d.rules {
		f.rule = strings.Repeat("─", min(p.width, ruleWidth))
	}
	if d.head {
		f.head = p.headLines(w)
	}
	f.foot = p.footLines(w, d)
	if s != nil {
		f.text = p.textLines(s, w, text)
		p.body(&f, s, w, n, preview, d)
		return f
	}
	if d.blanks {
		f.text = []string{strings.Repeat(" ", indent) + p.style.Strong(reviewTitle)}
	}
	f.body, f.top = p.review(w, n)
	return f
}

// body draws what is answered: the list with what is typed into it, or the
// text.
func (p *Picker) body(f *frame, s *sheet, w, n, preview int, d density) {
	switch {
	case s.free():
		p.freeBody(f, s, w, n)
	case s.beside(p.width):
		left := besideWidth(w)
		p.listBody(f, s, left, n, d)
		f.body = p.previewBeside(s, f.body, left, w, min(n, preview))
	default:
		p.listBody(f, s, w, n, d)
		if preview = min(n-len(f.body)-1, preview); s.longest > 0 && preview >= 2 && s.edit == editNothing {
			f.body = append(f.body, "")
			f.body = append(f.body, p.previewBelow(s, w, preview)...)
		}
	}
}

// settle draws what there is now, and brings what scrolls in line with it.
func (p *Picker) settle() {
	if p.done {
		return
	}
	s := p.sheet()
	if s != nil && !s.free() {
		s.focus = max(0, min(s.focus, s.count()-1))
	}
	p.frame = p.fit()
	switch {
	case p.pager != nil:
	case s == nil:
		p.reviewTop = p.frame.top
	case !s.free():
		s.top, s.page = p.frame.top, max(1, p.frame.shown-1)
	}
}
