package client

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// width is the most columns that s takes on any terminal.
func width(s string) int { return ansi.StringWidthWc(s) }

// cut shortens a line to the screen's width.
func (s *Screen) cut(line string) string {
	line = strings.ReplaceAll(line, "\t", "    ")
	if s.Width <= 0 {
		return line
	}
	return ansi.TruncateWc(line, s.Width, "…")
}

// wrap breaks a line at the screen's width. There is at least one.
func (s *Screen) wrap(line string) []string {
	line = strings.ReplaceAll(line, "\t", "    ")
	if s.Width <= 0 || width(line) <= s.Width {
		return []string{line}
	}
	// Wrap lets a word pass that is as wide as the screen and has a space
	// before it.
	return strings.Split(ansi.HardwrapWc(ansi.WrapWc(line, s.Width, ""), s.Width, true), "\n")
}

func (s *Screen) faint(line string) string {
	if !s.Style || line == "" {
		return line
	}
	return ansi.Style{}.Faint().Styled(line)
}

func (s *Screen) strong(line string) string {
	if !s.Style || line == "" {
		return line
	}
	return ansi.Style{}.Bold().Styled(line)
}
