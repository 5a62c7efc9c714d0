package client

import (
	"github.com/acp-bridge/acp-bridge/adapter/internal/cells"
)

// width is the most columns that s takes on any terminal.
func width(s string) int { return cells.Width(s) }

// cut shortens a line to the screen's width.
func (s *Screen) cut(line string) string {
	line = cells.Tabs(line)
	if s.Width <= 0 {
		return line
	}
	return cells.Cut(line, s.Width)
}

// wrap breaks a line at the screen's width. There is at least one.
func (s *Screen) wrap(line string) []string {
	line = cells.Tabs(line)
	if s.Width <= 0 {
		return []string{line}
	}
	return cells.Wrap(line, s.Width)
}

func (s *Screen) faint(line string) string { return s.style().Faint(line) }

func (s *Screen) strong(line string) string { return s.style().Strong(line) }

// signed draws a line of a diff by its sign.
func (s *Screen) signed(sign byte, line string) string { return s.style().Signed(sign, line) }

func (s *Screen) style() cells.Style { return cells.Style{Off: !s.Style, NoColor: s.NoColor} }
