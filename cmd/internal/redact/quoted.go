package redact

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxQuoting is how often a text may be quoted for a secret in it to be found.
// Each time doubles the backslashes; and what takes more rounds than that was
// made to take many.
const maxQuoting = 8

// layer is a text with some quoting taken off. A log line holds an error, which
// holds JSON, which holds what a program printed: each quoted what it got.
type layer struct {
	text string
	at   []int // where each byte begins in the whole text, and its end; nil for the text itself
}

// span is a part of a text.
type span struct{ from, to int }

// layers are the text and what is below each quoting of it.
func layers(text string) iter.Seq[layer] {
	return func(yield func(layer) bool) {
		l := layer{text: text}
		for range maxQuoting + 1 {
			if !yield(l) || !strings.Contains(l.text, `\`) {
				return
			}
			below := l.unquote()
			if len(below.text) == len(l.text) {
				return
			}
			l = below
		}
	}
}

// from is where byte i of the layer begins in the whole text.
func (l layer) from(i int) int {
	if l.at == nil {
		return i
	}
	return l.at[i]
}

// unquote takes the backslashes of one quoting off.
func (l layer) unquote() layer {
	var text strings.Builder
	text.Grow(len(l.text))
	at := make([]int, 0, len(l.text)+1)
	for i := 0; i < len(l.text); {
		r, n := l.text[i:i+1], 1
		if l.text[i] == '\\' {
			if decoded, length := escape(l.text[i:]); length > 0 {
				r, n = decoded, length
			}
		}
		text.WriteString(r)
		for range len(r) {
			at = append(at, l.from(i))
		}
		i += n
	}
	return layer{text.String(), append(at, l.from(len(l.text)))}
}

// escapes are control characters by their letters.
var escapes = map[byte]string{'n': "\n", 'r': "\r", 't': "\t", 'b': "\b", 'f': "\f"}

// escape decodes the escape sequence that s begins with, as JSON, Go, JavaScript
// and Python write them. The length is 0 for what is none.
func escape(s string) (decoded string, length int) {
	if len(s) < 2 {
		return "", 0
	}
	switch c := s[1]; c {
	case '"', '\'', '\\', '/', '`':
		return s[1:2], 2
	case 'n', 'r', 't', 'b', 'f':
		return escapes[c], 2
	case 'x':
		if r, ok := codePoint(s, 2, 2); ok {
			return string(r), 4
		}
	case 'U':
		if r, ok := codePoint(s, 2, 8); ok {
			return string(r), 10
		}
	case 'u':
		r, ok := codePoint(s, 2, 4)
		if !ok {
			return "", 0
		}
		if utf16.IsSurrogate(r) && strings.HasPrefix(s[6:], `\u`) {
			if low, ok := codePoint(s, 8, 4); ok && utf16.DecodeRune(r, low) != utf8.RuneError {
				return string(utf16.DecodeRune(r, low)), 12
			}
		}
		return string(r), 6 // half a pair is U+FFFD
	}
	return "", 0
}

func codePoint(s string, from, digits int) (rune, bool) {
	if len(s) < from+digits {
		return 0, false
	}
	n, err := strconv.ParseUint(s[from:from+digits], 16, 32)
	return rune(n), err == nil
}

// find adds where a secret is in the layer, and where the text was cut off within
// it.
func (l layer) find(found []span, secret string) []span {
	for i := 0; ; {
		n := strings.Index(l.text[i:], secret)
		if n < 0 {
			break
		}
		i += n
		found = append(found, span{l.from(i), l.from(i + len(secret))})
		i++
	}
	for i := 0; ; {
		n := strings.Index(l.text[i:], "…")
		if n < 0 {
			return found
		}
		i += n
		for k := min(len(secret)-1, i); k >= leastSecret; k-- {
			if strings.HasSuffix(l.text[:i], secret[:k]) {
				found = append(found, span{l.from(i - k), l.from(i + len("…"))})
				break
			}
		}
		i += len("…")
	}
}

// redact puts a mark in the place of each span. Those that overlap are one.
func redact(text string, found []span) string {
	if len(found) == 0 {
		return text
	}
	slices.SortFunc(found, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var out strings.Builder
	end := 0
	for i := 0; i < len(found); {
		s := found[i]
		for i++; i < len(found) && found[i].from < s.to; i++ {
			s.to = max(s.to, found[i].to)
		}
		out.WriteString(text[end:s.from] + Mark)
		end = s.to
	}
	return out.String() + text[end:]
}
