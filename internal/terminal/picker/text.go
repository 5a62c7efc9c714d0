package picker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/internal/terminal/cells"
	"github.com/acp-bridge/acp-bridge/internal/terminal/lineask"
)

// textLead stands before each line of a question. Lines that the question
// breaks itself stand behind a bar, so that none of them can pass for an
// option.
func (s *sheet) textLead() string {
	lead := strings.Repeat(" ", indent)
	if len(s.text.Lines) > 1 {
		lead += "│ "
	}
	return lead
}

// textHeight is the number of lines that all of the question takes.
func (s *sheet) textHeight(w int) int {
	return len(s.text.At(max(1, w-cells.Width(s.textLead()))))
}

// textLines draws the question in n lines. Where that is not all of it, the
// beginning and the end are shown: what somebody approves may do its harm in
// the last line.
func (p *Picker) textLines(s *sheet, w, n int) []string {
	lead := s.textLead()
	room := max(1, w-cells.Width(lead))
	all := s.text.At(room)
	if len(all) <= n {
		return p.barred(lead, all, true)
	}
	switch n {
	case 0:
		return nil
	case 1:
		return p.barred(lead, cells.AtMost(all, 1, room), true)
	}
	tail := (n - 1) / 2
	head := n - 1 - tail
	key := "v"
	if s.edit != editNothing {
		key = "Ctrl+O"
	}
	mark := strings.Repeat(" ", indent) + p.style.Warn(moreLines(len(all)-head-tail, key, w-indent))
	return slices.Concat(p.barred(lead, all[:head], true), []string{mark}, p.barred(lead, all[len(all)-tail:], false))
}

// moreLines says in w columns that there is more, and which key shows it.
func moreLines(n int, key string, w int) string {
	more := "… " + lineask.Counted(n, "more line", "more lines")
	if long := fmt.Sprintf("%s: %s shows all", more, key); cells.Width(long) <= w {
		return long
	}
	return cells.Cut(fmt.Sprintf("%s (%s)", more, key), max(1, w))
}

// barred draws lines of a question. The first one of several is the strong one.
func (p *Picker) barred(lead string, text []string, first bool) []string {
	lines := make([]string, len(text))
	bar := strings.Contains(lead, "│")
	for i, l := range text {
		switch {
		case l == "":
			lines[i] = strings.TrimRight(lead, " ")
		case bar && (i > 0 || !first):
			lines[i] = lead + l
		default:
			lines[i] = lead + p.style.Strong(l)
		}
	}
	return lines
}
