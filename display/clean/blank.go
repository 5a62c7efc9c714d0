package clean

import (
	"strings"
	"unicode"
)

// Blank reports whether a person would see nothing of s: it is empty, white
// space, or made of characters that leave no mark, such as Hangul fillers, the
// empty Braille pattern, and variation selectors with nothing to vary.
func Blank(s string) bool {
	return !strings.ContainsFunc(Line(s), func(r rune) bool { return r != ' ' && !unseen(r) })
}

// unseen reports the characters that leave no mark by themselves: those that
// Unicode calls ignorable by default, and those whose glyph is empty.
func unseen(r rune) bool {
	switch {
	case r < 0xad:
		return false
	case r == 0x2800, // empty Braille pattern
		r == 0x13441, r == 0x13442, // blanks between hieroglyphs
		r == 0x1d159: // null notehead
		return true
	}
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Cf) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r) // these are seen
}

// joins reports the unseen characters that scripts and emoji are written with:
// joiners, marks of direction, and the choice between text and picture.
func joins(r rune) bool {
	switch r {
	case 0x200c, 0x200d, 0x200e, 0x200f, 0x061c, 0xfe0e, 0xfe0f:
		return true
	}
	return r >= 0x180b && r <= 0x180f // Mongolian
}
