package cells

import (
	"fmt"
	"strings"
)

// Pager shows text that is longer than the terminal, a window at a time. It draws
// lines and does no I/O. The zero value shows none.
type Pager struct {
	Title string
	Text  Text

	top  int // first line shown
	rows int // lines shown
}

// End scrolls to the last line.
func (p *Pager) End() { p.top = len(p.Text.Lines) + 1<<30 }

// Key scrolls, and reports whether the pager is closed. A key that closes it
// does nothing else: whoever closes it with one key too many must not have
// answered.
func (p *Pager) Key(name string) (closed bool) {
	page := max(1, p.rows-1)
	switch name {
	case "up", "k":
		p.top--
	case "down", "j", "enter":
		p.top++
	case "pgup", "b":
		p.top -= page
	case "pgdown", "space", "f":
		p.top += page
	case "home", "g":
		p.top = 0
	case "end", "G":
		p.End()
	case "esc", "q", "v", "?", "ctrl+o":
		return true
	}
	return false
}

// View draws the pager into at most h lines of w columns: its title, the text,
// and what can be done.
func (p *Pager) View(style Style, w, h int) []string {
	const indent = 2
	lead := strings.Repeat(" ", indent)
	text := p.Text.At(max(1, w-indent))
	p.rows = min(len(text), max(1, h-2))
	p.top = max(0, min(p.top, len(text)-p.rows))
	lines := []string{" " + style.Strong(Cut(p.Title, max(1, w-1)))}
	for _, l := range text[p.top : p.top+p.rows] {
		lines = append(lines, strings.TrimRight(lead+l, " "))
	}
	foot := "Esc to go back"
	if p.rows < len(text) {
		foot += fmt.Sprintf(" • %d-%d of %d • ↑↓ PgUp PgDn Home End", p.top+1, p.top+p.rows, len(text))
	}
	return append(lines, lead+style.Faint(Cut(foot, max(1, w-indent))))
}
