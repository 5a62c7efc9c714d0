package picker

import (
	"strings"

	"github.com/acp-bridge/acp-bridge/internal/terminal/cells"
)

// beside reports whether previews stand beside the list.
func (s *sheet) beside(w int) bool { return w >= wide && s.longest > 0 }

// besideWidth is the width of a list that has a preview beside it.
func besideWidth(w int) int { return max(40, min(60, w*2/5)) }

// previewLines draws the preview of the option in focus into n lines of w
// columns. Lines are cut, not wrapped: they are code or a mock-up.
func (p *Picker) previewLines(s *sheet, w, n int) []string {
	entry := s.focused()
	if entry < 0 || s.isOther(entry) {
		return nil
	}
	text := s.rows[entry].preview
	lines := make([]string, 0, min(n, len(text)))
	for i, t := range text {
		if i == n-1 && len(text) > n {
			return append(lines, p.style.Faint(moreLines(len(text)-i, "v", w)))
		}
		lines = append(lines, cells.Cut(t, w))
	}
	return lines
}

// previewBelow draws the preview under the list. It takes as many lines
// whichever option is in focus, so that nothing jumps.
func (p *Picker) previewBelow(s *sheet, w, n int) []string {
	lead := strings.Repeat(" ", indent) + p.style.Faint("│ ")
	n = min(n, s.longest)
	lines := p.previewLines(s, max(1, w-indent-2), n)
	for i, l := range lines {
		lines[i] = lead + l
	}
	for len(lines) < n {
		lines = append(lines, "")
	}
	return lines
}

// previewBeside draws the preview to the right of the list, which is left
// columns wide. It is as high whichever option is in focus.
func (p *Picker) previewBeside(s *sheet, list []string, left, w, n int) []string {
	lines := make([]string, max(len(list), min(n, s.longest)))
	right := p.previewLines(s, max(1, w-left-3), len(lines))
	for i := range lines {
		var l, r string
		if i < len(list) {
			l = list[i]
		}
		if i < len(right) {
			r = right[i]
		}
		lines[i] = strings.TrimRight(cells.Pad(l, left)+p.style.Faint(" │ ")+r, " ")
	}
	return lines
}
