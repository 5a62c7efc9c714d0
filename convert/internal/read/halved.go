package read

import (
	"strconv"
	"strings"
	"unicode/utf16"
)

// Halved reports whether a JSON string holds half of a surrogate pair. Such a
// string is valid JSON, and no text.
func Halved(raw string) bool {
	for {
		at := strings.IndexByte(raw, '\\')
		if at < 0 {
			return false
		}
		raw = raw[at:]
		r := escaped(raw)
		switch {
		case !utf16.IsSurrogate(r):
			raw = raw[min(2, len(raw)):]
		case utf16.DecodeRune(r, escaped(raw[6:])) == '\uFFFD':
			return true
		default:
			raw = raw[12:]
		}
	}
}

// escaped is the unit of UTF-16 that a string begins with as \uXXXX, 0 if it does
// not.
func escaped(s string) rune {
	if len(s) < 6 || s[:2] != `\u` {
		return 0
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	if err != nil {
		return 0
	}
	return rune(n)
}
