package picker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/internal/terminal/cells"
)

// headLines draws the header of the one question, or the tabs of several.
func (p *Picker) headLines(w int) []string {
	if p.several() {
		return []string{p.tabBar(w)}
	}
	return []string{" " + p.style.Strong(cells.Cut(p.sheets[0].head, max(1, w-1)))}
}

// tabBar draws the tabs, their names as long as [tabName] and the width allow;
// where that is too short to tell them apart, the name of the tab one is on
// alone. The tab one is on stands in brackets, and a box says whether its
// question is answered.
func (p *Picker) tabBar(w int) string {
	for n := tabName; n >= 8; n-- {
		if bar := p.tabsOf(n, n, " "); cells.Width(bar) <= w {
			return bar
		}
	}
	for n := tabName; n >= 4; n-- {
		if bar := p.tabsOf(n, n, ""); cells.Width(bar) <= w {
			return bar
		}
	}
	if bar := p.tabsOf(tabName, 0, ""); cells.Width(bar) <= w {
		return bar
	}
	if p.tab == len(p.sheets) {
		return cells.Cut(fmt.Sprintf(" ← %s →", p.style.Reverse("["+submitTab+"]")), w)
	}
	name := p.style.Reverse("[" + p.box(p.tab) + " " + cells.Cut(p.sheets[p.tab].head, tabName) + "]")
	return cells.Cut(fmt.Sprintf(" ← %d/%d %s →", p.tab+1, len(p.sheets), name), w)
}

const (
	submitTab = "✓ Submit"
	// tabName is how many columns of a header stand in a tab: what agents are
	// told to keep to.
	tabName = 12
)

// tabsOf draws the tabs, the name of the one one is on with at most n columns,
// the others' with at most others. With a space around the others a tab is as
// wide whether one is on it or not.
func (p *Picker) tabsOf(n, others int, around string) string {
	var b strings.Builder
	b.WriteString(" ←")
	add := func(i int, text string) {
		if i == p.tab {
			b.WriteString(" " + p.style.Reverse("["+text+"]"))
			return
		}
		b.WriteString(" " + around + text + around)
	}
	for i, s := range p.sheets {
		most := others
		if i == p.tab {
			most = n
		}
		add(i, strings.TrimRight(p.box(i)+" "+cells.Cut(s.head, most), " "))
	}
	if others == 0 && p.tab < len(p.sheets) {
		add(len(p.sheets), "✓")
	} else {
		add(len(p.sheets), submitTab)
	}
	return b.String() + " →"
}

// box says whether a question is answered.
func (p *Picker) box(i int) string {
	if p.sheets[i].answered() {
		return "☒"
	}
	return "☐"
}

const reviewTitle = "Review your answers"

// review draws the questions with their answers on the Submit tab, as much as
// fits into n lines, and says which line is the first of them.
func (p *Picker) review(w, n int) (lines []string, from int) {
	lead := strings.Repeat(" ", indent)
	room := max(1, w-indent)
	for i, s := range p.sheets {
		question := p.box(i) + " " + s.question()
		answer := "→ " + p.reviewed(s)
		draw := func(t string) string { return t }
		if !s.answered() {
			draw = p.style.Warn
		}
		if cells.Width(question)+1+cells.Width(answer) <= room {
			lines = append(lines, lead+draw(question+" "+answer))
			continue
		}
		lines = append(lines, lead+draw(cells.Cut(question, room)), lead+"  "+draw(cells.Cut(answer, max(1, room-2))))
	}
	count := len(lines)
	if count <= n {
		return lines, 0
	}
	if n < 3 { // no room for marks
		from = max(0, min(p.reviewTop, count-n))
		return lines[from : from+n], from
	}
	from = max(0, min(p.reviewTop, count-(n-1)))
	to := from + n
	var above, below []string
	if from > 0 {
		above = []string{p.more("↑", from, 0)}
		to--
	}
	if to < count {
		to--
		below = []string{p.more("↓", count-to, 0)}
	}
	return slices.Concat(above, lines[from:to], below), from
}

// question is the question on one line.
func (s *sheet) question() string {
	return strings.Join(strings.Fields(cells.Plain(strings.Join(s.text.Lines, " "))), " ")
}

// reviewed is the answer of a question on one line, or that it has none.
func (p *Picker) reviewed(s *sheet) string {
	if !s.answered() {
		return "not answered"
	}
	return s.summary()
}
