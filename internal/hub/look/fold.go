package look

import (
	"html/template"
	"regexp"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

const (
	// foldAt is how many rows a thing shows that is longer than foldOver: a fold
	// that hides three lines is worse than three lines.
	foldAt   = 12
	foldOver = 18
	// numberFrom is from how many lines on they are numbered.
	numberFrom = 10
)

// size is about how many rows a part takes.
func (p part) size() (n int) {
	for _, r := range p.rows {
		n += r.rows()
	}
	return n + p.lines
}

// Long reports whether the thing is shown folded.
func (t Thing) Long() bool {
	n := 0
	for _, p := range t.parts {
		n += p.size()
	}
	return n > foldOver
}

// Empty reports whether there is nothing to show.
func (t Thing) Empty() bool { return len(t.parts) == 0 }

// Source is a plan as it was written.
func (t Thing) Source() string { return t.source }

// preamble are lines of a script that do nothing by themselves.
var preamble = regexp.MustCompile(`^(#|set [-+]|$)`)

// Title is the thing in a line: a plan's heading, the first command of a script and how many
// lines there are more, a file's path, a tool's name.
func (t Thing) Title() string {
	for l := range strings.SplitSeq(t.source, "\n") {
		if l = strings.Trim(l, "#*_ \t\r"); l != "" {
			return clean.Line(l)
		}
	}
	for _, p := range t.parts {
		switch {
		case p.class == "quote", p.class == "line" && t.Mark == "command": // words about it
		case p.html != "":
			return clean.Line(plain(string(p.html)))
		case p.class != "command" && p.label != "":
			return clean.Line(plain(string(p.label)))
		case len(p.rows) > 0:
			first := max(0, slices.IndexFunc(p.rows, func(r row) bool { return !preamble.MatchString(strings.TrimSpace(r.text)) }))
			title := clean.Line(p.rows[first].text)
			if more := len(p.rows) - 1; more > 0 {
				title = clean.Truncate(title, 60) + " +" + lineCount(more)
			}
			return title
		}
	}
	return ""
}

// Whole is all of it.
func (t Thing) Whole() template.HTML {
	var b strings.Builder
	for _, p := range t.parts {
		p.write(&b, len(p.rows))
	}
	return template.HTML(b.String())
}

// Plain is all of it for a terminal. Lines of a diff have their signs, Markdown is as it was
// written, and what hides or turns text is shown as what it is.
func (t Thing) Plain() string {
	var b strings.Builder
	for _, p := range t.parts {
		if p.label != "" {
			b.WriteString(clean.Visible(plain(string(p.label))) + "\n")
		}
		for _, r := range p.rows {
			b.WriteString(p.lead(r) + clean.Visible(r.said()) + "\n")
		}
		if p.words != "" {
			b.WriteString(clean.Visible(strings.TrimSuffix(p.words, "\n")) + "\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// lead is what stands before a row where no style can tell it.
func (p part) lead(r row) string {
	switch {
	case p.class == "command":
		return "$ "
	case r.sign != 0:
		return string(rune(r.sign)) + " "
	}
	return ""
}

// Folded is its beginning, and how many lines there are more.
func (t Thing) Folded() (begin template.HTML, more int) {
	var b strings.Builder
	left := foldAt
	for i, p := range t.parts {
		switch {
		case left <= 0:
			more += max(p.size(), 1)
		case p.html != "":
			if p.lines > foldOver && i > 0 {
				more, left = more+p.lines, 0
				continue
			}
			p.write(&b, 0)
			left -= p.lines
		default:
			n := 0
			for n < len(p.rows) && left > 0 {
				left -= p.rows[n].rows()
				n++
			}
			p.write(&b, n)
			for _, r := range p.rows[n:] {
				more += max(r.blank, 1)
			}
		}
	}
	return template.HTML(b.String()), more
}

func (p part) write(b *strings.Builder, rows int) {
	b.WriteString(`<div class="part ` + p.class + `">`)
	defer b.WriteString(`</div>`)
	if p.label != "" {
		b.WriteString(`<p class="label">` + string(p.label) + `</p>`)
	}
	if p.html != "" {
		b.WriteString(string(p.html))
		return
	}
	if len(p.rows) == 0 {
		return
	}
	if p.class == "line" || p.class == "quote" {
		b.WriteString(`<p dir="auto">`)
		for i, r := range p.rows[:rows] {
			if i > 0 {
				b.WriteByte('\n')
			}
			r.write(b)
		}
		b.WriteString(`</p>`)
		return
	}
	b.WriteString(`<pre dir="ltr"`)
	if numbered := p.rows[len(p.rows)-1].n; numbered >= numberFrom {
		b.WriteString(` class="numbered"`)
	}
	b.WriteString(`>`)
	for _, r := range p.rows[:rows] {
		r.draw(b)
	}
	b.WriteString(`</pre>`)
}

// draw writes a row. Its number and its sign are drawn by the style, so that nobody
// copies them; a screen reader hears the sign by its word.
func (r row) draw(b *strings.Builder) {
	b.WriteString(`<span class="l`)
	switch {
	case r.gap:
		b.WriteString(` gap`)
	case r.sign == '+':
		b.WriteString(` plus`)
	case r.sign == '-':
		b.WriteString(` minus`)
	}
	b.WriteString(`"`)
	if r.n > 0 {
		b.WriteString(` data-n="` + number(r.n) + `"`)
	}
	b.WriteString(`>`)
	switch r.sign {
	case '+':
		b.WriteString(`<ins>`)
		r.write(b)
		b.WriteString(`</ins>`)
	case '-':
		b.WriteString(`<del>`)
		r.write(b)
		b.WriteString(`</del>`)
	default:
		r.writeWords(b)
	}
	b.WriteString(`</span>`)
}
