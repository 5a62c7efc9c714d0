// Package clean makes text from a model safe to show to a person.
//
// A title, an option's name or a program's output may hold escape sequences
// that move a cursor, bidi overrides that turn a file name around, or
// characters that cannot be seen at all. None of them may reach an editor or a
// terminal:
//
//	clean.Line("\x1b[31mDelete\x1b[0m\n  all?")       // "Delete all?"
//	clean.Block("one\r\ntwo\x07")                     // "one\ntwo"
//	clean.Visible("ls \x1b]0;; rm -rf ~\x07")         // "ls ␛]0;; rm -rf ~␇"
//	clean.Truncate("a long title", 7)                 // "a long…"
//	clean.Fence("console", "a fence: ```")            // a fence of four backticks
//
// Line and Block leave out what must not be shown. Visible leaves out nothing:
// it is for a value that somebody approves, such as a command, where a hidden
// character would be a lie. All three return their argument itself, without an
// allocation, when there is nothing to do, and all are idempotent.
//
// Cleaned text is for people only. An id, an answer or the content of a file
// is a value and stays as it is.
package clean

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns s as one line: escape sequences, control characters, bidi
// overrides and invisible format characters are gone, every run of white space
// is one space, invalid UTF-8 is U+FFFD, and both ends are trimmed.
//
// What a script or an emoji needs stays: joiners, variation selectors and the
// directional marks LRM, RLM and ALM.
func Line(s string) string {
	if isLine(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	space := false // white space seen, not yet written
	for i := 0; i < len(s); {
		if n := sequence(s[i:]); n > 0 {
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case unicode.IsSpace(r):
			space = true
		case hidden(r):
		default:
			if space && b.Len() > 0 {
				b.WriteByte(' ')
			}
			space = false
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Block is Line for text of several lines: line breaks and tabs stay, and so
// does all other white space. Every kind of line break becomes "\n".
func Block(s string) string {
	if isBlock(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if n := sequence(s[i:]); n > 0 {
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == '\r':
			if !strings.HasPrefix(s[i:], "\n") {
				b.WriteByte('\n')
			}
		case breaksLine(r):
			b.WriteByte('\n')
		case r == '\t' || !hidden(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isLine reports whether Line has nothing to do.
func isLine(s string) bool {
	space := true // so that a leading space is noticed
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c < ' ' || c == 0x7f || c == ' ' && space {
				return false
			}
			space = c == ' '
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || hidden(r) || unicode.IsSpace(r) {
			return false
		}
		space = false
		i += n
	}
	return s == "" || !space
}

// isBlock reports whether Block has nothing to do.
func isBlock(s string) bool {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
				return false
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || hidden(r) || breaksLine(r) {
			return false
		}
		i += n
	}
	return true
}

// breaksLine reports the characters that start a new line in some renderer,
// the carriage return aside.
func breaksLine(r rune) bool {
	switch r {
	case '\n', '\v', '\f', 0x85, 0x2028, 0x2029:
		return true
	}
	return false
}

// hidden reports the characters that act on the text around them or pretend to
// be nothing. White space is asked about before it.
func hidden(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r <= 0x9f: // C0, DEL, C1
		return true
	case r < 0xad:
		return false
	case r == 0xad, // soft hyphen
		r == 0x180e,                  // Mongolian vowel separator
		r == 0x200b,                  // zero width space
		r >= 0x202a && r <= 0x202e,   // bidi embeddings and overrides
		r >= 0x2060 && r <= 0x206f,   // word joiner, invisible operators, bidi isolates
		r == 0xfeff,                  // byte order mark
		r >= 0xfff9 && r <= 0xfffb,   // interlinear annotation
		r >= 0xe0000 && r <= 0xe007f: // tags
		return true
	}
	return false
}
