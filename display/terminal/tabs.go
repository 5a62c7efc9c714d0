package terminal

import (
	"fmt"
	"strings"
)

// headLines draws the header of the one question, or the tabs of several.
func (m *Model) headLines(w int) []string {
	if m.several() {
		return []string{m.tabBar(w)}
	}
	return []string{" " + m.style.strong(cut(m.sheets[0].head, max(1, w-1)))}
}

// tabBar draws the tabs, their names as long as the width allows. A square is
// filled for a question that is answered, and for the one that one is on.
func (m *Model) tabBar(w int) string {
	for n := 24; n >= 3; n-- {
		if bar := m.tabsOf(n); width(bar) <= w {
			return bar
		}
	}
	if m.tab == len(m.sheets) {
		return cut(fmt.Sprintf(" ← %s →", m.style.tab("✓ Submit")), w)
	}
	name := m.style.tab(m.square(m.tab) + " " + m.sheets[m.tab].head)
	return cut(fmt.Sprintf(" ← %d/%d %s →", m.tab+1, len(m.sheets), name), w)
}

// tabsOf draws the tabs with names of at most n columns.
func (m *Model) tabsOf(n int) string {
	parts := make([]string, 0, len(m.sheets)+1)
	for i, s := range m.sheets {
		t := m.square(i) + " " + cut(s.head, n)
		if i == m.tab {
			t = m.style.tab(t)
		}
		parts = append(parts, t)
	}
	t := "✓ Submit"
	if m.tab == len(m.sheets) {
		t = m.style.tab(t)
	}
	return " ← " + strings.Join(append(parts, t), "  ") + " →"
}

func (m *Model) square(i int) string {
	if i == m.tab || m.sheets[i].answered() {
		return "■"
	}
	return "□"
}

// summary draws the answers on the Submit tab, those that fit into n lines.
func (m *Model) summary(w, n int) []string {
	lead := strings.Repeat(" ", indent)
	room := max(1, w-indent)
	var all []string
	for _, s := range m.sheets {
		if s.answered() {
			all = append(all, lead+cut("✓ "+s.head+": "+s.summary(), room))
			continue
		}
		all = append(all, lead+m.style.warn(cut("□ "+s.head+": not answered", room)))
	}
	if len(all) <= n {
		return all
	}
	n = max(n, 3)
	from := min(m.summaryTop, len(all)-(n-1))
	to := from + n - 1
	var lines []string
	if from > 0 {
		lines = append(lines, m.more("↑", from))
		to = min(from+n-2, len(all))
		if to == len(all)-1 {
			to = len(all)
			from++
			lines[0] = m.more("↑", from)
		}
	}
	lines = append(lines, all[from:to]...)
	if to < len(all) {
		lines = append(lines, m.more("↓", len(all)-to))
	}
	return lines
}
