package redact

import "math/bits"

// words are looked for in lines, to learn fast that a line is not worth reading:
// each question and each answer comes in one. They are small letters, 16 at most.
type words struct {
	list []string
	// begins has a bit for each word that begins with a pair of letters, whatever
	// their case.
	begins [1 << 10]uint16
}

// teaching are the words of which each line that learn takes something from has
// one: those of secretWords, and the names of what else is searched.
var teaching = newWords(
	"key", "token", "secret", "passw", "passphrase", "authorization", "headers", "cookie", "credential", "env", "url", "args", "mcp",
)

func newWords(list ...string) *words {
	w := &words{list: list}
	for i, word := range list {
		w.begins[pair(word[0], word[1])] |= 1 << i
	}
	return w
}

func pair(a, b byte) int { return int(a&31)<<5 | int(b&31) }

// mayBeIn reports whether a line may have one of the words. One that is not
// written letter by letter, in ASCII, may be any.
func (w *words) mayBeIn(line []byte) bool {
	for i := range len(line) - 1 {
		a, b := line[i], line[i+1]
		if a|b >= 0x80 || a == '\\' && b == 'u' {
			return true
		}
		for left := w.begins[pair(a, b)]; left != 0; left &= left - 1 {
			if begins(line[i:], w.list[bits.TrailingZeros16(left)]) {
				return true
			}
		}
	}
	return false
}

// begins reports whether a line begins with a word, whatever the case of its
// letters.
func begins(line []byte, word string) bool {
	if len(line) < len(word) {
		return false
	}
	for i := range len(word) {
		if line[i]|0x20 != word[i] {
			return false
		}
	}
	return true
}
