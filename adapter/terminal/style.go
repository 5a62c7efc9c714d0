package terminal

import "github.com/charmbracelet/x/ansi"

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
