package terminal

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// style draws with the terminal's own sixteen colours and attributes, so that
// it is readable on light and dark backgrounds without asking which it is. A
// colour is never all that tells two things apart.
type style struct{ noColor bool }

func (s style) strong(t string) string { return ansi.Style{}.Bold().Styled(t) }
func (s style) faint(t string) string  { return ansi.Style{}.Faint().Styled(t) }

// tab marks the tab one is on.
func (s style) tab(t string) string { return ansi.Style{}.Reverse(true).Styled(t) }

// accent marks the option one is on.
func (s style) accent(t string) string {
	st := ansi.Style{}.Bold()
	if !s.noColor {
		st = st.ForegroundColor(ansi.Cyan)
	}
	return st.Styled(t)
}

// warn marks what needs an answer or went wrong.
func (s style) warn(t string) string {
	st := ansi.Style{}.Bold()
	if !s.noColor {
		st = st.ForegroundColor(ansi.Magenta)
	}
	return st.Styled(t)
}

// width is the number of columns that s takes. The renderer counts the same
// way.
func width(s string) int { return ansi.StringWidthWc(s) }

// cut shortens s to at most w columns, with a … where something is missing.
func cut(s string, w int) string {
	if w <= 0 {
		return ""
	}
	return ansi.TruncateWc(s, w, "…")
}

// wrap breaks text into lines of at most w columns, at spaces where it can.
func wrap(s string, w int) []string {
	w = max(w, 1)
	lines := strings.Split(ansi.WrapWc(s, w, ""), "\n")
	for i, l := range lines {
		// A character of two columns does not fit a width of one.
		lines[i] = ansi.TruncateWc(strings.TrimRight(l, " "), w, "")
	}
	return lines
}

// atMost keeps the first n lines; the last one kept says that there was more.
func atMost(lines []string, n, w int) []string {
	if len(lines) <= n || n <= 0 {
		return lines[:min(len(lines), max(n, 0))]
	}
	lines = append([]string(nil), lines[:n]...)
	lines[n-1] = cut(lines[n-1]+" …", w)
	if !strings.HasSuffix(lines[n-1], "…") {
		lines[n-1] = cut(lines[n-1], w-1) + "…"
	}
	return lines
}

// pad fills s with spaces to w columns.
func pad(s string, w int) string {
	return s + strings.Repeat(" ", max(0, w-width(s)))
}

// tabs writes tabs as spaces, which are as wide as they look.
func tabs(s string) string { return strings.ReplaceAll(s, "\t", "    ") }
