package terminal

import (
	"regexp"
	"strings"
	"unicode"
)

// cleanLine and cleanBlock make text from a model safe to draw: one line, or
// several. They stand for display/clean's Line and Block.
var (
	cleanLine  = line
	cleanBlock = block
)

// escapes are CSI, OSC and other string sequences, two-character escapes, and
// a lone escape.
var escapes = regexp.MustCompile("(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]?" +
	"|(?:\x1b[\\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\x07\x18\x1a\x1b\n\u009c]*(?:\x07|\x1b\\\\|\u009c)" +
	"|\x1b[ -/]*[0-~]?")

// line returns s as one line without anything that acts on a terminal; every
// run of white space is one space.
func line(s string) string {
	return strings.Join(strings.Fields(strings.Map(shown, block(s))), " ")
}

// block is line for text of several lines: line breaks, all as "\n", tabs and
// spaces stay.
func block(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	s = escapes.ReplaceAllString(s, "")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(shown, s)
}

// shown maps line breaks to "\n" and drops what cannot be seen.
func shown(r rune) rune {
	switch r {
	case '\r', '\n', '\v', '\f', 0x85, 0x2028, 0x2029:
		return '\n'
	case '\t', 0x200c, 0x200d, 0x200e, 0x200f, 0x61c: // joiners and marks that scripts need
		return r
	}
	if unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) {
		return -1
	}
	return r
}
