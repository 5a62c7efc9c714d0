package picker

import (
	"fmt"
	"strings"

	"github.com/acp-bridge/acp-bridge/internal/terminal/cells"
)

// Where an entry's parts stand: "  > 12. Label", "       Description".
const (
	indent     = 2
	descLines  = 2 // of an option that is not in focus
	focusLines = 6 // of the one that is
)

// brief says how much of the options is shown, by what the height allows.
type brief int

const (
	descAll   brief = iota
	descFocus       // of the option in focus alone
	descNone
)

// entry draws one entry of the list, at least one line of at most w columns.
// Only the first line can carry a number or a box: nothing that a label says
// can look like another entry.
func (p *Picker) entry(s *sheet, i int, w int, b brief) []string {
	entry := s.entry(i)
	focus := i == s.focus
	label, desc := OtherLabel, ""
	if !s.isOther(entry) {
		label, desc = s.rows[entry].label, s.rows[entry].description
	}
	mark := s.mark(entry)
	lead := strings.Repeat(" ", indent) + "  " + mark
	if focus {
		lead = strings.Repeat(" ", indent) + "> " + mark
	}
	left := cells.Width(lead)
	room := w - left
	text := []string{label}
	if s.single() && s.chosen == entry {
		text[0] += " ✓"
	}
	if cells.Width(text[0]) > room {
		if focus && room > 8 {
			text = cells.AtMost(cells.Wrap(text[0], room), 3, room)
		} else {
			text[0] = cells.Cut(text[0], room)
		}
	}
	gap := strings.Repeat(" ", left)
	lines := make([]string, 0, 2)
	for j, t := range text {
		switch {
		case j > 0 && focus:
			lines = append(lines, gap+p.style.Accent(t))
		case focus:
			lines = append(lines, p.style.Accent(lead+t))
		default:
			lines = append(lines, lead+t)
		}
	}
	if desc != "" && room > 0 && (b == descAll || b == descFocus && focus) {
		n := descLines
		if focus {
			n = focusLines
		}
		for _, t := range cells.AtMost(cells.Wrap(desc, room), n, room) {
			lines = append(lines, gap+p.style.Faint(t))
		}
	}
	return lines
}

// listBox is a list drawn into a number of lines: entries from up to to.
type listBox struct {
	from, to int
	lines    []string
	focus    int // line after the focused entry, where text is typed
}

// list draws the part of the list around the focus that fits into n lines.
func (p *Picker) list(s *sheet, w, n int, b brief) listBox {
	count := s.count()
	memo := map[int][]string{}
	draw := func(i int) []string {
		if memo[i] == nil {
			memo[i] = p.entry(s, i, w, b)
			// One entry never takes all lines: the scroll marks need theirs.
			memo[i] = memo[i][:min(len(memo[i]), max(1, n-2))]
		}
		return memo[i]
	}
	// An entry takes a line at least, so that the search can begin near by.
	from := max(min(s.top, s.focus), s.focus-n)
	to := from
	for ; ; from++ {
		lines := 0
		for to = from; to < count; to++ {
			h := len(draw(to))
			if lines+h+marks(from, to+1, count) > n {
				break
			}
			lines += h
		}
		if to > s.focus || from >= s.focus {
			break
		}
	}
	to = max(to, min(s.focus+1, count)) // the focus is drawn even where it does not fit
	for from > 0 && to == count && height(from-1, to, draw)+marks(from-1, to, count) <= n {
		from--
	}
	box := listBox{from: from, to: to}
	if from > 0 {
		box.lines = append(box.lines, p.more("↑", from, s.pickedIn(0, from)))
	}
	for i := from; i < to; i++ {
		box.lines = append(box.lines, draw(i)...)
		if i == s.focus {
			box.focus = len(box.lines)
		}
	}
	if to < count {
		box.lines = append(box.lines, p.more("↓", count-to, s.pickedIn(to, count)))
	}
	return box
}

// marks is the number of scroll marks around entries from up to to.
func marks(from, to, count int) (k int) {
	if from > 0 {
		k++
	}
	if to < count {
		k++
	}
	return k
}

// height is the number of lines of entries from up to to.
func height(from, to int, draw func(int) []string) (lines int) {
	for i := from; i < to; i++ {
		lines += len(draw(i))
	}
	return lines
}

// pickedIn counts the picks among entries of the list.
func (s *sheet) pickedIn(from, to int) (n int) {
	if s.single() {
		return 0
	}
	for i := from; i < to; i++ {
		switch e := s.entry(i); {
		case s.isOther(e):
			if s.ownWords {
				n++
			}
		case s.picked[e]:
			n++
		}
	}
	return n
}

// more says how many entries are out of sight, and how many of them are picked.
func (p *Picker) more(arrow string, n, picked int) string {
	text := fmt.Sprintf("%s %d more...", arrow, n)
	if picked > 0 {
		text += fmt.Sprintf(" (%d picked)", picked)
	}
	return strings.Repeat(" ", indent+2) + p.style.Faint(text)
}
