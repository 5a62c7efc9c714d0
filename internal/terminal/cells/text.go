package cells

// Text is lines that are shown wrapped. It wraps them once for a width.
type Text struct {
	// Lines are plain text, or text with attributes.
	Lines []string
	// Paint draws a piece of the line with that position; nil leaves it as it is.
	Paint func(line int, piece string) string

	width   int
	wrapped []string
}

// At is the text in lines of at most w columns.
func (t *Text) At(w int) []string {
	if t.wrapped == nil || t.width != w {
		t.width, t.wrapped = w, nil
		for i, l := range t.Lines {
			for _, piece := range Wrap(l, w) {
				if t.Paint != nil {
					piece = t.Paint(i, piece)
				}
				t.wrapped = append(t.wrapped, piece)
			}
		}
	}
	return t.wrapped
}
