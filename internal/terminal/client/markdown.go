package client

import (
	"strings"

	"github.com/acp-bridge/acp-bridge/internal/terminal/cells"
)

// markdown draws Markdown line by line, as it comes: headings, code, strong
// words, lists and quotes. The rest stays as it is written, which is how
// Markdown is meant to be read. A renderer of whole documents was measured: 20
// ms at every start, and 10 MB.
type markdown struct {
	fence string // of the block of code that is open
}

// line draws a line. ok is false for one that is not shown: a fence.
func (m *markdown) line(style cells.Style, text string) (drawn string, ok bool) {
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
		return lead + style.Strong(plainInline(strings.TrimLeft(bare, "# "))), true
	case strings.HasPrefix(bare, "- "), strings.HasPrefix(bare, "* "), strings.HasPrefix(bare, "+ "):
		return lead + "• " + inline(style, bare[2:]), true
	case strings.HasPrefix(bare, "> "):
		return lead + "│ " + inline(style, bare[2:]), true
	}
	return lead + inline(style, bare), true
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

// inline draws code and strong words inside a line.
func inline(style cells.Style, s string) string {
	return spans(s, style.Code, style.Strong)
}

// plainInline takes the markers off.
func plainInline(s string) string {
	same := func(t string) string { return t }
	return spans(s, same, same)
}

// spans draws what stands between markers: backticks, and two stars.
func spans(s string, code, strong func(string) string) string {
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
		draw := code
		if marker == "*" {
			draw = strong
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
