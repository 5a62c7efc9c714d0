package terminal

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/rivo/uniseg"
)

// width is the most columns that s takes on any terminal: of an emoji that is
// joined from several, some count all and some one.
func width(s string) int { return ansi.StringWidthWc(s) }

// cut shortens s to at most w columns, with a … where something is missing. It
// leaves the sequences of attributes whole.
func cut(s string, w int) string {
	if width(s) <= w {
		return s
	}
	if w <= 0 {
		return ""
	}
	var b strings.Builder
	used, styled := 0, false
	for s != "" {
		if n := attribute(s); n > 0 {
			b.WriteString(s[:n])
			s, styled = s[n:], true
			continue
		}
		c, rest := first(s)
		if used += width(c); used > w-1 {
			break
		}
		b.WriteString(c)
		s = rest
	}
	b.WriteString("…")
	if styled {
		b.WriteString(ansi.ResetStyle)
	}
	return b.String()
}

// attribute is the length of the sequence that s begins with, 0 if with none.
func attribute(s string) int {
	if !strings.HasPrefix(s, "\x1b[") {
		return 0
	}
	return strings.IndexByte(s, 'm') + 1
}

// first splits s after its first character.
func first(s string) (c, rest string) {
	if len(s) > 1 && s[0] < 0x80 && s[1] < 0x80 {
		return s[:1], s[1:]
	}
	c, rest, _, _ = uniseg.FirstGraphemeClusterInString(s, -1)
	return c, rest
}

// wrap breaks plain text into lines of at most w columns, at spaces where it
// can. There is at least one line.
func wrap(s string, w int) []string {
	w = max(w, 1)
	if width(s) <= w && !strings.Contains(s, "\n") {
		return []string{s}
	}
	var lines []string
	for t := range strings.SplitSeq(s, "\n") {
		lines = append(lines, wrapLine(t, w)...)
	}
	return lines
}

// wrapLine is wrap for text without line breaks. A character that does not fit
// at all is left out.
func wrapLine(s string, w int) (lines []string) {
	for {
		end, space, used := 0, -1, 0 // bytes that fit, and up to the last space
		rest := s
		for rest != "" {
			c, next := first(rest)
			if c == " " {
				space = end
			}
			if used+width(c) > w {
				break
			}
			used += width(c)
			end += len(c)
			rest = next
		}
		switch {
		case rest == "":
			return append(lines, strings.TrimRight(s, " "))
		case end == 0:
			_, s = first(s)
			continue
		case space > 0 && strings.TrimSpace(s[:space]) != "":
			end = space
		}
		lines = append(lines, strings.TrimRight(s[:end], " "))
		s = strings.TrimLeft(s[end:], " ")
		if s == "" {
			return lines
		}
	}
}

// atMost keeps the first n lines of w columns; the last one kept says that
// there was more.
func atMost(lines []string, n, w int) []string {
	if len(lines) <= n {
		return lines
	}
	if n <= 0 {
		return nil
	}
	lines = append([]string(nil), lines[:n]...)
	if last := lines[n-1]; width(last)+2 <= w {
		lines[n-1] = last + " …"
	} else {
		lines[n-1] = cut(last+" …", w)
	}
	return lines
}

// pad fills s with spaces to w columns.
func pad(s string, w int) string {
	return s + strings.Repeat(" ", max(0, w-width(s)))
}

// tabs writes tabs as spaces, which are as wide as they look.
func tabs(s string) string { return strings.ReplaceAll(s, "\t", "    ") }
