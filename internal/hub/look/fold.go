package look

import (
	"html/template"
	"slices"
	"strconv"
	"strings"

	"github.com/acp-bridge/acp-bridge/display"
)

const (
	// foldAt is how many rows a thing shows that is longer than foldOver: a fold
	// that hides three lines is worse than three lines.
	foldAt   = 12
	foldOver = 18
	// numberFrom is from how many lines on they are numbered.
	numberFrom = 10
)

// Long reports whether the thing is shown folded.
func (t Thing) Long() bool {
	n := 0
	for _, p := range t.parts {
		n += p.size
	}
	return n > foldOver
}

// Empty reports whether there is nothing to show.
func (t Thing) Empty() bool { return len(t.parts) == 0 }

// Whole is all of it.
func (t Thing) Whole() template.HTML {
	var b strings.Builder
	for _, p := range t.parts {
		p.write(&b, len(p.lines))
	}
	return template.HTML(b.String())
}

// Folded is its beginning, and how many lines there are more.
func (t Thing) Folded() (begin template.HTML, more int) {
	var b strings.Builder
	left := foldAt
	for i, p := range t.parts {
		switch {
		case left <= 0:
			more += max(p.size, 1)
		case p.html != "":
			if p.size > foldOver && i > 0 {
				more, left = more+p.size, 0
				continue
			}
			p.write(&b, 0)
			left -= p.size
		default:
			n := 0
			for n < len(p.lines) && left > 0 {
				left -= rows(p.lines[n])
				n++
			}
			p.write(&b, n)
			for _, l := range p.lines[n:] {
				more += max(l.Blank, 1)
			}
		}
	}
	return template.HTML(b.String()), more
}

// write writes the part, of its lines the first n.
func (p part) write(b *strings.Builder, n int) {
	b.WriteString(`<div class="part ` + p.class + `">`)
	defer b.WriteString(`</div>`)
	if p.label != "" {
		b.WriteString(`<p class="label">` + string(p.label) + `</p>`)
	}
	switch {
	case p.html != "":
		b.WriteString(string(p.html))
	case len(p.lines) == 0:
	case p.class == "line" || p.class == "quote":
		b.WriteString(`<p dir="auto">`)
		for i, l := range p.lines[:n] {
			if i > 0 {
				b.WriteByte('\n')
			}
			write(b, l)
		}
		b.WriteString(`</p>`)
	default:
		b.WriteString(`<pre dir="ltr"`)
		if slices.ContainsFunc(p.lines, func(l display.Line) bool { return l.N >= numberFrom || l.N > 0 && p.class == "diff" }) {
			b.WriteString(` class="numbered"`)
		}
		b.WriteString(`>`)
		for _, l := range p.lines[:n] {
			writeRow(b, l)
		}
		b.WriteString(`</pre>`)
	}
}

// signs are how the lines of a change are drawn: their mark, their class and their element.
var signs = map[byte]struct{ mark, class, element string }{' ': {mark: "  "}, '+': {" +", " plus", "ins"}, '-': {" −", " minus", "del"}, '@': {class: " gap"}}

// writeRow writes a line of its own. Its number and its sign are drawn by the style, so that
// nobody copies them; a screen reader hears the sign by its word.
func writeRow(b *strings.Builder, l display.Line) {
	sign := signs[l.Sign]
	b.WriteString(`<span class="l` + sign.class + `"`)
	if l.N > 0 {
		sign.mark = strconv.Itoa(l.N) + sign.mark
	}
	if sign.mark = strings.TrimLeft(sign.mark, " "); sign.mark != "" {
		b.WriteString(` data-n="` + sign.mark + `"`)
	}
	b.WriteString(`>`)
	if sign.element == "" {
		writeWords(b, l)
	} else {
		b.WriteString(`<` + sign.element + `>`)
		write(b, l)
		b.WriteString(`</` + sign.element + `>`)
	}
	b.WriteString(`</span>`)
}
