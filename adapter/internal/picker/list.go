package picker

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/acp-bridge/acp-bridge/adapter/internal/cells"
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
func (m *Picker) entry(s *sheet, i int, w int, b brief) []string {
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
			lines = append(lines, gap+m.style.Accent(t))
		case focus:
			lines = append(lines, m.style.Accent(lead+t))
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
			lines = append(lines, gap+m.style.Faint(t))
		}
	}
	return lines
}

// mark is what stands before an entry's label.
func (s *sheet) mark(entry int) string {
	if s.single() {
		return strconv.Itoa(entry+1) + ". "
	}
	if s.isOther(entry) && s.ownWords || !s.isOther(entry) && s.picked[entry] {
		return "[x] "
	}
	return "[ ] "
}

// listBox is a list drawn into a number of lines: entries from up to to.
type listBox struct {
	from, to int
	lines    []string
	focus    int // line after the focused entry, where text is typed
}

// list draws the part of the list around the focus that fits into n lines. A
// long list takes no more than longList lines with its scroll marks, counting
// an entry as one.
func (m *Picker) list(s *sheet, w, n int, b brief) listBox {
	count := s.count()
	slots := count + 2
	if s.long() {
		slots = longList
	}
	memo := map[int][]string{}
	draw := func(i int) []string {
		if memo[i] == nil {
			memo[i] = m.entry(s, i, w, b)
			// One entry never takes all lines: the scroll marks need theirs.
			memo[i] = memo[i][:min(len(memo[i]), max(1, n-2))]
		}
		return memo[i]
	}
	// marks is the number of scroll marks around entries a to b.
	marks := func(a, b int) (k int) {
		if a > 0 {
			k++
		}
		if b < count {
			k++
		}
		return k
	}
	// An entry takes a line at least, so that the search can begin near by.
	from := max(min(s.top, s.focus), s.focus-min(n, slots))
	to := from
	for ; ; from++ {
		lines := 0
		for to = from; to < count; to++ {
			h := len(draw(to))
			if k := marks(from, to+1); lines+h+k > n || to+1-from+k > slots {
				break
			}
			lines += h
		}
		if to > s.focus || from >= s.focus {
			break
		}
	}
	to = max(to, min(s.focus+1, count)) // the focus is drawn even where it does not fit
	for from > 0 && to == count && m.fits(from-1, to, count, n, slots, draw) {
		from--
	}
	box := listBox{from: from, to: to}
	if from > 0 {
		box.lines = append(box.lines, m.more("↑", from))
	}
	for i := from; i < to; i++ {
		box.lines = append(box.lines, draw(i)...)
		if i == s.focus {
			box.focus = len(box.lines)
		}
	}
	if to < count {
		box.lines = append(box.lines, m.more("↓", count-to))
	}
	return box
}

// fits reports whether entries from up to to, the last ones, take no more
// than n lines.
func (m *Picker) fits(from, to, count, n, slots int, draw func(int) []string) bool {
	lines, used := 0, to-from
	if from > 0 {
		lines, used = 1, used+1
	}
	for i := from; i < to; i++ {
		lines += len(draw(i))
	}
	return lines <= n && used <= slots
}

func (m *Picker) more(arrow string, n int) string {
	return strings.Repeat(" ", indent+2) + m.style.Faint(fmt.Sprintf("%s %d more...", arrow, n))
}
