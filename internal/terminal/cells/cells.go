// Package cells measures and shapes text in the columns of a terminal.
//
// Its functions know one kind of escape sequence: the attributes that [Style]
// writes. Other control characters must be cleaned away before.
package cells

import (
	"strings"

	"github.com/clipperhouse/displaywidth"
	"github.com/clipperhouse/uax29/v2/graphemes"
)

// Width is the most columns that s takes on any terminal: of an emoji that is
// joined from several, some terminals count all and some one.
func Width(s string) int {
	n := 0
	for i := 0; i < len(s); {
		if c := s[i]; c >= ' ' && c < 0x7f && (i+1 == len(s) || s[i+1] < 0x80) {
			n++
			i++
			continue
		}
		if k := attribute(s[i:]); k > 0 {
			i += k
			continue
		}
		c, _ := First(s[i:])
		n += clusterWidth(c)
		i += len(c)
	}
	return n
}

func clusterWidth(c string) int {
	sum := 0
	for _, r := range c {
		sum += displaywidth.Rune(r)
	}
	return max(sum, displaywidth.String(c))
}

// First splits s after its first character, which may be several code points
// that a person takes for one.
func First(s string) (c, rest string) {
	if len(s) > 0 && s[0] < 0x80 && s[0] != '\r' && (len(s) == 1 || s[1] < 0x80) {
		return s[:1], s[1:]
	}
	it := graphemes.FromString(s)
	c = it.First()
	return c, s[len(c):]
}

// Cut shortens s to at most w columns, with a … where something is missing. It
// leaves attributes whole.
func Cut(s string, w int) string {
	if Width(s) <= w {
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
		c, rest := First(s)
		if used += clusterWidth(c); used > w-1 {
			break
		}
		b.WriteString(c)
		s = rest
	}
	b.WriteString("…")
	if styled {
		b.WriteString(reset)
	}
	return b.String()
}

// Wrap breaks text into lines of at most w columns, at spaces where it can.
// There is at least one line. An attribute that is on at the end of a line goes
// on in the next.
func Wrap(s string, w int) []string {
	w = max(w, 1)
	if !strings.Contains(s, "\n") && Width(s) <= w {
		return []string{s}
	}
	var lines []string
	for t := range strings.SplitSeq(s, "\n") {
		lines = append(lines, wrapLine(t, w)...)
	}
	if strings.Contains(s, "\x1b") {
		carry(lines)
	}
	return lines
}

// wrapLine is Wrap for text without line breaks. A character that does not fit
// at all is left out.
func wrapLine(s string, w int) (lines []string) {
	for {
		end, space, used := 0, -1, 0 // bytes that fit, and up to the last space
		rest := s
		for rest != "" {
			if n := attribute(rest); n > 0 {
				end, rest = end+n, rest[n:]
				continue
			}
			c, next := First(rest)
			if c == " " {
				space = end
			}
			cw := clusterWidth(c)
			if used+cw > w {
				break
			}
			used += cw
			end += len(c)
			rest = next
		}
		switch {
		case rest == "":
			return append(lines, strings.TrimRight(s, " "))
		case used == 0:
			_, s = First(rest)
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

// carry ends attributes at the end of each line and begins them again in the
// next.
func carry(lines []string) {
	on := ""
	for i, l := range lines {
		begin := on
		for rest := l; rest != ""; {
			if n := attribute(rest); n > 0 {
				if on = rest[:n]; on == reset {
					on = ""
				}
				rest = rest[n:]
				continue
			}
			_, rest = First(rest)
		}
		if lines[i] = begin + l; on != "" {
			lines[i] += reset
		}
	}
}

// AtMost keeps the first n lines of w columns; the last one kept says that
// there was more.
func AtMost(lines []string, n, w int) []string {
	if len(lines) <= n {
		return lines
	}
	if n <= 0 {
		return nil
	}
	lines = append([]string(nil), lines[:n]...)
	lines[n-1] = Cut(lines[n-1]+" …", w)
	return lines
}

// Pad fills s with spaces to w columns.
func Pad(s string, w int) string {
	return s + strings.Repeat(" ", max(0, w-Width(s)))
}

// Tabs writes tabs as spaces, which are as wide as they look.
func Tabs(s string) string { return strings.ReplaceAll(s, "\t", "    ") }
