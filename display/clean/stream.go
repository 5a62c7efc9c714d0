package clean

import (
	"strings"
	"unicode/utf8"
)

// Terminal is Block for the terminal view of an editor: colours and carriage
// returns stay as well. All other sequences go there, too: some of them reach
// out of the view, to the clipboard for one.
func Terminal(s string) string {
	if isBlock(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if n := sequence(s[i:]); n > 0 {
			if colour(s[i : i+n]) {
				b.WriteString(s[i : i+n])
			}
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == '\r' || r == '\t':
			b.WriteRune(r)
		case breaksLine(r):
			b.WriteByte('\n')
		case !hidden(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

// colour reports whether a sequence sets colours or other attributes and does
// nothing else.
func colour(sequence string) bool {
	parameters, ok := strings.CutPrefix(sequence, "\x1b[")
	if !ok || !strings.HasSuffix(parameters, "m") {
		return false
	}
	return strings.Trim(parameters[:len(parameters)-1], "0123456789;:") == ""
}

// maxSequence is the length up to which an unfinished sequence is waited for.
const maxSequence = 256

// Whole returns how much of s, to which more will come, can be cleaned by
// itself: all but a character or an escape sequence that its end cuts in two.
func Whole(s string) int {
	for i := max(0, len(s)-maxSequence); i < len(s); {
		if s[i] != 0x1b {
			i++
			continue
		}
		if unfinished(s[i:]) {
			return i
		}
		i += sequence(s[i:])
	}
	for i := len(s) - 1; i >= max(0, len(s)-utf8.UTFMax); i-- {
		if utf8.RuneStart(s[i]) {
			if !utf8.FullRuneInString(s[i:]) {
				return i
			}
			break
		}
	}
	return len(s)
}

// unfinished reports whether s, which starts with ESC, is the beginning of a
// sequence and nothing else.
func unfinished(s string) bool {
	if len(s) == 1 {
		return true
	}
	switch s[1] {
	case '[':
		n := controlSequence(s, 2)
		return n == len(s) && (n == 2 || s[n-1] < 0x40)
	case ']', 'P', 'X', '^', '_':
		body := strings.TrimSuffix(s[2:], "\x1b") // perhaps of its terminator
		return controlString(s, 2) == 2 && !strings.ContainsAny(body, "\n\r\x1b")
	}
	return strings.Trim(s[1:], " !\"#$%&'()*+,-./") == ""
}
