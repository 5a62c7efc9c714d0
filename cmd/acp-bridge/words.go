package main

import "strings"

// words are looked for in lines, to learn fast that a line is not worth reading:
// each question and each answer comes in one.
type words struct {
	list []string
	// begins has the first two letters of each word, whatever their case.
	begins [1 << 10]bool
}

// teaching are the words of which each line that learn takes something from has
// one: those of secretWords, and the names of what else is searched.
var teaching = newWords(
	"key", "token", "secret", "passw", "passphrase", "authorization", "headers", "cookie", "credential", "env", "url", "args",
)

// secretFields are the words of which each form has one that has a field for a
// secret.
var secretFields = newWords(
	"pass", "pwd", "secret", "token", "credential", "pin", "otp", "cvv", "cvc", "key", "writeonly",
)

func newWords(list ...string) *words {
	w := &words{list: list}
	for _, word := range list {
		w.begins[pair(word[0], word[1])] = true
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
		if !w.begins[pair(a, b)] {
			continue
		}
		for _, word := range w.list {
			if len(line)-i >= len(word) && strings.EqualFold(string(line[i:i+len(word)]), word) {
				return true
			}
		}
	}
	return false
}
