package cells

import "strings"

// Bare draws no attributes, for screen readers and streams.
var Bare = Style{Off: true}

// MarkdownLines draws the lines of a text. Where nothing is left of them, as of a fence
// without code, they stay as they are.
func MarkdownLines(look Style, text []string) []string {
	var m Markdown
	var drawn []string
	for _, l := range text {
		if l, ok := m.Line(look, l); ok {
			drawn = append(drawn, l)
		}
	}
	if len(drawn) == 0 {
		return text
	}
	return drawn
}

// Markdown draws lines as they come: headings, code, strong words, lists and quotes.
// The rest stays as it is written, which is how Markdown is meant to be read. No
// letter is lost. A renderer of whole documents was measured: 20 ms at every start, and
// 10 MB.
type Markdown struct {
	fence string // of the block of code that is open
}

// InCode reports whether a block of code is open.
func (m *Markdown) InCode() bool { return m.fence != "" }

// Line draws a line. ok is false for one that is not shown: a fence.
func (m *Markdown) Line(style Style, text string) (drawn string, ok bool) {
	bare := strings.TrimLeft(text, " ")
	if f := fenceOf(bare); m.fence == "" && f != "" {
		m.fence = f
		return "", false
	}
	if m.fence != "" {
		if strings.TrimRight(bare, " ") == m.fence {
			m.fence = ""
			return "", false
		}
		return "  " + style.Code(text), true
	}
	lead := text[:len(text)-len(bare)]
	switch {
	case isHeading(bare):
		return lead + style.Strong(MarkdownInline(Bare, strings.TrimLeft(bare, "# "))), true
	case strings.HasPrefix(bare, "- "), strings.HasPrefix(bare, "* "), strings.HasPrefix(bare, "+ "):
		return lead + "• " + MarkdownInline(style, bare[2:]), true
	case strings.HasPrefix(bare, "> "):
		return lead + "│ " + MarkdownInline(style, bare[2:]), true
	}
	return lead + MarkdownInline(style, bare), true
}

// fenceOf is the fence that a line begins with.
func fenceOf(line string) string {
	for _, c := range []string{"`", "~"} {
		f := line[:len(line)-len(strings.TrimLeft(line, c))]
		if len(f) >= 3 && !strings.Contains(line[len(f):], "`") {
			return f
		}
	}
	return ""
}

func isHeading(line string) bool {
	n := len(line) - len(strings.TrimLeft(line, "#"))
	return n > 0 && n <= 6 && strings.HasPrefix(line[n:], " ")
}

// MarkdownInline draws what stands between markers inside a line: code between backticks,
// and strong words between two stars.
func MarkdownInline(style Style, s string) string {
	var b strings.Builder
	for s != "" {
		i := strings.IndexAny(s, "`*")
		if i < 0 {
			break
		}
		marker := s[i : i+1]
		rest := strings.TrimLeft(s[i:], marker)
		run := s[i : len(s)-len(rest)]
		inside, after, ok := strings.Cut(rest, run)
		draw := style.Code
		if marker == "*" {
			draw = style.Strong
			ok = ok && run == "**" && strings.TrimSpace(inside) == inside
		}
		b.WriteString(s[:i])
		if ok && inside != "" && !strings.HasPrefix(after, marker) {
			b.WriteString(draw(inside))
			s = after
			continue
		}
		b.WriteString(run)
		s = rest
	}
	return b.String() + s
}
