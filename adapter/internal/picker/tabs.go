package picker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/adapter/internal/cells"
)

// headLines draws the header of the one question, or the tabs of several.
func (m *Picker) headLines(w int) []string {
	if m.several() {
		return []string{m.tabBar(w)}
	}
	return []string{" " + m.style.Strong(cells.Cut(m.sheets[0].head, max(1, w-1)))}
}

// tabBar draws the tabs, their names as long as the width allows; where that
// is too short to tell them apart, the name of the tab one is on alone. A
// square is filled for a question that is answered, and for the one that one
// is on.
func (m *Picker) tabBar(w int) string {
	for n := 24; n >= 4; n-- {
		if bar := m.tabsOf(n, n, "  "); cells.Width(bar) <= w {
			return bar
		}
	}
	if bar := m.tabsOf(24, 0, " "); cells.Width(bar) <= w {
		return bar
	}
	if m.tab == len(m.sheets) {
		return cells.Cut(fmt.Sprintf(" ← %s →", m.style.Reverse("✓ Submit")), w)
	}
	name := m.style.Reverse(m.square(m.tab) + " " + m.sheets[m.tab].head)
	return cells.Cut(fmt.Sprintf(" ← %d/%d %s →", m.tab+1, len(m.sheets), name), w)
}

// tabsOf draws the tabs, the name of the one one is on with at most n columns,
// the others' with at most others.
func (m *Picker) tabsOf(n, others int, between string) string {
	parts := make([]string, 0, len(m.sheets)+1)
	add := func(i int, mark, name string) {
		most := others
		switch {
		case i == len(m.sheets) && (others > 0 || i == m.tab):
			most = len(name)
		case i == m.tab:
			most = n
		}
		t := strings.TrimRight(mark+" "+cells.Cut(name, most), " ")
		if i == m.tab {
			t = m.style.Reverse(t)
		}
		parts = append(parts, t)
	}
	for i, s := range m.sheets {
		add(i, m.square(i), s.head)
	}
	add(len(m.sheets), "✓", "Submit")
	return " ← " + strings.Join(parts, between) + " →"
}

func (m *Picker) square(i int) string {
	if i == m.tab || m.sheets[i].answered() {
		return "■"
	}
	return "□"
}

// summary draws the answers on the Submit tab, those that fit into n lines,
// and says which is the first of them.
func (m *Picker) summary(w, n int) (lines []string, from int) {
	lead := strings.Repeat(" ", indent)
	room := max(1, w-indent)
	for _, s := range m.sheets {
		if s.answered() {
			lines = append(lines, lead+cells.Cut("✓ "+s.head+": "+s.summary(), room))
			continue
		}
		lines = append(lines, lead+m.style.Warn(cells.Cut("□ "+s.head+": not answered", room)))
	}
	count := len(lines)
	if count <= n {
		return lines, 0
	}
	if n < 3 { // no room for marks
		from = max(0, min(m.summaryTop, count-n))
		return lines[from : from+n], from
	}
	from = max(0, min(m.summaryTop, count-(n-1)))
	to := from + n
	var above, below []string
	if from > 0 {
		above = []string{m.more("↑", from)}
		to--
	}
	if to < count {
		to--
		below = []string{m.more("↓", count-to)}
	}
	return slices.Concat(above, lines[from:to], below), from
}
