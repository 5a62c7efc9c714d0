package clean

import (
	"strings"
	"unicode/utf8"
)

// sequence returns the length of the escape sequence that s starts with, and 0
// if it starts with none. It knows the forms of ECMA-48 in their 7-bit
// spelling (ESC [), as C1 characters (U+009B) and as single C1 bytes (0x9B).
//
// A control string (OSC, DCS, SOS, PM, APC) without an end on its line counts
// only as far as its introducer. A terminal would swallow everything behind
// it; here the text stays, or one stray character could hide the rest.
func sequence(s string) int {
	switch {
	case s == "":
		return 0
	case s[0] == 0x1b:
		return escape(s)
	case s[0] == 0xc2 && len(s) > 1:
		return control(s, s[1], 2)
	case s[0] >= 0x80 && s[0] <= 0x9f:
		// Not UTF-8, so perhaps no control at all but a letter of a legacy
		// encoding: only a complete sequence is taken for one.
		switch n := control(s, s[0], 1); {
		case n <= 1:
			return 0
		case s[0] == 0x9b && (s[n-1] < 0x40 || s[n-1] > 0x7e):
			return 0
		default:
			return n
		}
	}
	return 0
}

// escape returns the length of a sequence that starts with ESC.
func escape(s string) int {
	if len(s) > 1 && s[1] >= 0x40 && s[1] <= 0x5f {
		// ESC and a letter of this range are the 7-bit spelling of a C1 control.
		return control(s, s[1]+0x40, 2)
	}
	n := 1
	for n < len(s) && s[n] >= 0x20 && s[n] <= 0x2f {
		n++
	}
	if n < len(s) && s[n] >= 0x30 && s[n] <= 0x7e {
		return n + 1
	}
	return 1
}

// control returns the length of what the C1 control c, spelt in the first
// intro bytes of s, makes a terminal take in, and 0 if c is no C1 control.
func control(s string, c byte, intro int) int {
	switch {
	case c < 0x80 || c > 0x9f || c == 0x85: // a next-line is white space
		if intro == 2 && s[0] == 0x1b {
			return intro
		}
		return 0
	case c == 0x9b:
		return controlSequence(s, intro)
	case c == 0x90 || c == 0x98 || c == 0x9d || c == 0x9e || c == 0x9f:
		return controlString(s, intro)
	}
	return intro
}

// controlSequence is a CSI: parameters, intermediates, one final byte.
func controlSequence(s string, n int) int {
	for n < len(s) && s[n] >= 0x30 && s[n] <= 0x3f {
		n++
	}
	for n < len(s) && s[n] >= 0x20 && s[n] <= 0x2f {
		n++
	}
	if n < len(s) && s[n] >= 0x40 && s[n] <= 0x7e {
		n++
	}
	return n
}

// controlString ends at BEL, CAN, SUB or a string terminator in any spelling.
// A line break or another control before that means that it has no end. The
// search stops there also because looking further from every one of many
// introducers would take quadratic time.
func controlString(s string, intro int) int {
	for n := intro; n < len(s); {
		r, size := utf8.DecodeRuneInString(s[n:])
		if r == utf8.RuneError && size == 1 {
			r = rune(s[n]) // a C1 control as a single byte
		}
		switch {
		case r == '\a', r == 0x18, r == 0x1a, r == 0x9c:
			return n + size
		case strings.HasPrefix(s[n:], "\x1b\\"):
			return n + 2
		case r == 0x1b, r == '\n', r == '\r', r >= 0x80 && r <= 0x9f:
			return intro
		}
		n += size
	}
	return intro
}
