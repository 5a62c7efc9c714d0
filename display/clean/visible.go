package clean

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Visible returns s with a stand-in for everything that Block would leave out,
// and for what leaves no mark: a control picture (␛) for a control character,
// <U+202E> for the rest. Line breaks and tabs stay, and so do the joiners that
// scripts and emoji need.
//
// Use it for what a person approves word for word. Had Block cleaned the
// command "ls \x1b]0;; rm -rf ~\a", its reader would have agreed to "ls".
func Visible(s string) string {
	if isBlock(s) && !strings.ContainsFunc(s, conceals) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r == '\r' && strings.HasPrefix(s[i:], "\n"):
		case r < 0x20:
			b.WriteRune(0x2400 + r)
		case r == 0x7f:
			b.WriteRune(0x2421)
		case hidden(r) || breaksLine(r) || conceals(r):
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// conceals reports what leaves no mark and is nothing that a script needs.
func conceals(r rune) bool { return unseen(r) && !joins(r) }
