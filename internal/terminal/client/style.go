package client

import (
	"github.com/acp-bridge/acp-bridge/internal/terminal/cells"
)

// cut shortens a line to the screen's width.
func (s *screen) cut(line string) string {
	line = cells.Tabs(line)
	if s.Width <= 0 {
		return line
	}
	return cells.Cut(line, s.Width)
}

// wrap breaks a line at the screen's width. There is at least one.
func (s *screen) wrap(line string) []string {
	line = cells.Tabs(line)
	if s.Width <= 0 {
		return []string{line}
	}
	return cells.Wrap(line, s.Width)
}

func (s *screen) faint(line string) string { return s.style().Faint(line) }

func (s *screen) strong(line string) string { return s.style().Strong(line) }

func (s *screen) style() cells.Style { return cells.Style{Off: !s.Style, NoColor: s.NoColor} }
