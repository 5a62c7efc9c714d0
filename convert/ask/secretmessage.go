package ask

import (
	"iter"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// asked reports whether a form's message asks for a secret, for a field whose own
// names do not say so. In doubt it does:
//
//	| the field's names | the message                                               | secret |
//	|-------------------|-----------------------------------------------------------|--------|
//	| say nothing       | has a secret in it: "Your password has expired."          | yes    |
//	| say nothing       | asks about one: "Where shall passwords be kept?"          | no     |
//	| say something     | asks for one, in English: "Enter the password for prod"   | yes    |
//	| say something     | has one in it otherwise: "Enter a name for the API key"   | no     |
func (x *lexicon) asked(message string, vague bool) bool {
	if x.says(message) == 0 {
		return false
	}
	for sentence := range sentences(message) {
		for _, latin := range []bool{false, true} {
			s := spell(nil, nil, sentence, latin)
			if at := x.mention(s, sentence); at >= 0 && (vague && !asksAbout(s, at, sentence) || x.requests(s, sentence)) {
				return true
			}
		}
	}
	return false
}

// sentences are those of a text, each with what ends it.
func sentences(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start := 0
		for i, r := range text {
			next := i + utf8.RuneLen(r)
			switch r {
			case '\n', '!', '?', ';', '。', '！', '？':
			case '.':
				if next < len(text) && text[next] != ' ' {
					continue
				}
			default:
				continue
			}
			if !yield(text[start:next]) {
				return
			}
			start = next
		}
		if start < len(text) {
			yield(text[start:])
		}
	}
}

// sentenceWords are the words that say what a sentence is after.
type sentenceWords struct{ topic, about, request, between, behind, vague map[string]bool }

var grammar = sync.OnceValue(func() sentenceWords {
	return sentenceWords{set(topicWords), set(aboutWords), set(requestWords), set(betweenWords), set(behindWords), set(vagueWords)}
})

// mention is the position of the first word that is, or begins, the name of a
// secret; -1 without one.
func (x *lexicon) mention(s spelling, sentence string) int {
	at, _ := x.find(s)
	for i := range s.ends {
		word := string(s.word(i))
		if at >= 0 && s.ends[i] > at {
			return i
		}
		if x.words[word] && (!grammar().topic[word] || strings.Contains(sentence, strings.ToUpper(word)) || i > 0 && string(s.word(i-1)) == "your") {
			return i
		}
	}
	return -1
}

// asksAbout reports a question that wants to know something about the secret at
// that word, and not the secret.
func asksAbout(s spelling, at int, sentence string) bool {
	if !strings.HasSuffix(sentence, "?") {
		return false
	}
	first := string(s.word(0))
	return grammar().about[first] || (first == "what" || first == "which") && s.any(2, at, grammar().between)
}

// requests reports a sentence that asks for a secret: "Enter your API key for …",
// "Password for prod:".
func (x *lexicon) requests(s spelling, sentence string) bool {
	start, end := x.find(s)
	if start < 0 {
		return false
	}
	last, whole := slices.BinarySearch(s.ends, end)
	if !whole || last+1 < len(s.ends) && !grammar().behind[string(s.word(last+1))] {
		return false // a password policy, or passwords
	}
	at, _ := slices.BinarySearch(s.ends, start+1)
	if s.any(0, at, grammar().between) {
		return false // a name for the API key
	}
	return at == 0 || s.any(0, at, grammar().request) || strings.HasSuffix(strings.TrimSpace(sentence), ":")
}

// any reports whether one of some words is in a set.
func (s spelling) any(from, to int, of map[string]bool) bool {
	for i := from; i < to; i++ {
		if of[string(s.word(i))] {
			return true
		}
	}
	return false
}

// vague reports a name that does not say what it is a name of.
func vague(name string) bool {
	s := spell(nil, nil, name, false)
	for i := range s.ends {
		if word := s.word(i); utf8.RuneCount(word) > 1 && !grammar().vague[string(word)] {
			return false
		}
	}
	return true
}
