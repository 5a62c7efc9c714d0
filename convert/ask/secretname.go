package ask

import (
	"slices"
	"sync"
	"unicode"
	"unicode/utf8"
)

// lexicon is how secrets of a kind are called, as names are compared with it.
type lexicon struct {
	stems map[[2]byte][]string // by their first two bytes
	words map[string]bool      // in a name
	alone map[string]bool      // as the whole name
}

func newLexicon(stems, words, alone []string) *lexicon {
	x := &lexicon{stems: map[[2]byte][]string{}, words: set(words), alone: set(alone)}
	for stem := range set(stems) {
		at := [2]byte{stem[0], stem[1]}
		x.stems[at] = append(x.stems[at], stem)
	}
	return x
}

// set are words as they are compared.
func set(words []string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[string(spell(nil, nil, w, false).letters)] = true
	}
	return m
}

// Made when the first name is read: most processes never see a form.
var (
	// secrets are what a text can be, and codes what a number can be.
	secrets = sync.OnceValue(func() *lexicon {
		return newLexicon(slices.Concat(secretStems, codeStems), slices.Concat(secretWords, codeWords), aloneWords)
	})
	codes = sync.OnceValue(func() *lexicon { return newLexicon(codeStems, codeWords, nil) })
)

// said is what a text says about a secret, a bit each.
type said uint8

const (
	bySentence said = 1 << iota // beyond doubt, also in a sentence
	byName                      // if the text is a name
	byWhole                     // if it is a name, with nothing beside it
)

// says reports what a text says, as it is written, and as it looks to a person who
// reads Latin letters.
func (x *lexicon) says(text string) said {
	var letters [128]byte
	var ends [32]int
	s := spell(letters[:0], ends[:0], text, false)
	found := x.saysSpelled(s)
	if s.odd {
		found |= x.saysSpelled(spell(letters[:0], ends[:0], text, true))
	}
	return found
}

func (x *lexicon) saysSpelled(s spelling) (found said) {
	if at, _ := x.find(s); at >= 0 {
		found = bySentence | byName
	}
	if x.word(s) {
		found |= byName
	}
	if x.alone[string(s.letters)] {
		found |= byWhole
	}
	return found
}

// find is where the first stem begins and ends.
func (x *lexicon) find(s spelling) (at, end int) {
	for i := range len(s.letters) - 1 {
		for _, stem := range x.stems[[2]byte(s.letters[i:])] {
			if rest := s.letters[i:]; len(rest) >= len(stem) && string(rest[:len(stem)]) == stem {
				return i, i + len(stem)
			}
		}
	}
	return -1, -1
}

func (x *lexicon) word(s spelling) bool {
	for i := range s.ends {
		if word := s.word(i); x.words[string(word)] || string(word) == "pass" && i == len(s.ends)-1 {
			return true
		}
	}
	return x.words[string(s.letters)] // p i n
}

// spelling is a name taken apart: api_key, API key and apiKey alike.
type spelling struct {
	letters []byte // in lower case, without what is between them
	ends    []int  // of its words, in letters
	odd     bool   // some of it may look like a Latin letter
}

func (s spelling) word(i int) []byte {
	start := 0
	if i > 0 {
		start = s.ends[i-1]
	}
	return s.letters[start:s.ends[i]]
}

// spell takes a name apart, in the room of letters and ends.
func spell(letters []byte, ends []int, name string, latin bool) spelling {
	s := spelling{letters, ends, false}
	lower, begun := false, 0
	end := func() {
		if len(s.letters) > begun {
			begun = len(s.letters)
			s.ends = append(s.ends, begun)
		}
	}
	for i, r := range name {
		switch {
		case r == '2' && i+1 < len(name) && name[i+1]|0x20 == 'f': // 2FA, 2-factor
			end()
			s.letters, lower = append(s.letters, "two"...), false
			continue
		case r >= 0x80:
			s.odd = true
			if r = fold(r); r < 0 {
				continue
			}
		case r < 'A':
			s.odd = s.odd || r > ' ' && alike[r] != 0
		}
		if latin && alike[r] != 0 {
			r = alike[r]
		}
		if 'a' <= r && r <= 'z' {
			s.letters, lower = append(s.letters, byte(r)), true
			continue
		}
		letter, upper := unicode.IsLetter(r), unicode.IsUpper(r)
		if !letter || upper && lower {
			end()
		}
		if lower = unicode.IsLower(r); letter {
			s.letters = utf8.AppendRune(s.letters, unicode.ToLower(r))
		}
	}
	end()
	return s
}

// accents are letters with marks, by the letter without them.
var accents = sync.OnceValue(func() map[rune]rune {
	m := map[rune]rune{}
	for letter, marked := range map[rune]string{
		'a': "àáâãäåāăąǎạảấầẩẫậắằẳẵặ", 'c': "çćĉċč", 'd': "ďđ", 'e': "èéêëēĕėęěẹẻẽếềểễệ", 'g': "ĝğġģ", 'h': "ĥħ",
		'i': "ìíîïĩīĭįıỉị", 'j': "ĵ", 'k': "ķ", 'l': "ĺļľŀł", 'n': "ñńņňŉ", 'o': "òóôõöøōŏőơọỏốồổỗộớờởỡợ",
		'r': "ŕŗř", 's': "śŝşšș", 't': "ţťŧț", 'u': "ùúûüũūŭůűųưụủứừửữự", 'w': "ŵ", 'y': "ýÿŷỳỵỷỹ", 'z': "źżž",
		'ο': "ό", 'α': "ά", 'ε': "έ", 'η': "ή", 'ι': "ίϊΐ", 'υ': "ύϋΰ", 'ω': "ώ", 'σ': "ς", 'и': "й", 'е': "ё",
	} {
		for _, r := range marked {
			m[r] = letter
			m[unicode.ToUpper(r)] = unicode.ToUpper(letter)
		}
	}
	return m
})

// fold is a character without marks, and a letter that is another in another
// font; -1 for what cannot be seen.
func fold(r rune) rune {
	switch {
	case unicode.In(r, unicode.Cf, unicode.Mn, unicode.Me), r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0, r == 0x2800:
		return -1
	case r >= 0xFF01 && r <= 0xFF5E: // as wide as a CJK character
		return r - 0xFF01 + '!'
	case r >= 0x1D400 && r <= 0x1D6A3: // letters of mathematics
		n := (r - 0x1D400) % 52
		if n < 26 {
			return 'A' + n
		}
		return 'a' + n - 26
	}
	if plain, ok := accents()[r]; ok {
		return plain
	}
	return r
}

// alike are characters that look like a Latin letter.
var alike = map[rune]rune{
	'а': 'a', 'в': 'b', 'с': 'c', 'ԁ': 'd', 'е': 'e', 'һ': 'h', 'і': 'i', 'ј': 'j', 'к': 'k', 'ӏ': 'l', 'м': 'm', 'н': 'h', 'о': 'o', 'р': 'p', 'ԛ': 'q', 'ѕ': 's', 'т': 't', 'у': 'y', 'ѵ': 'v', 'ԝ': 'w', 'х': 'x',
	'А': 'A', 'В': 'B', 'С': 'C', 'Е': 'E', 'Н': 'H', 'І': 'I', 'Ј': 'J', 'К': 'K', 'М': 'M', 'О': 'O', 'Р': 'P', 'Ѕ': 'S', 'Т': 'T', 'У': 'Y', 'Х': 'X',
	'α': 'a', 'ε': 'e', 'ι': 'i', 'κ': 'k', 'ν': 'v', 'ο': 'o', 'ρ': 'p', 'τ': 't', 'υ': 'u', 'ω': 'w', 'ϲ': 'c',
	'Α': 'A', 'Β': 'B', 'Ε': 'E', 'Η': 'H', 'Ι': 'I', 'Κ': 'K', 'Μ': 'M', 'Ν': 'N', 'Ο': 'O', 'Ρ': 'P', 'Τ': 'T', 'Υ': 'Y', 'Χ': 'X',
	'ɑ': 'a', 'ɡ': 'g', 'ɩ': 'i', 'ѡ': 'w', 'ꜱ': 's', 'ʀ': 'r', '0': 'o', '1': 'i', '3': 'e', '4': 'a', '5': 's', '@': 'a', '$': 's', '!': 'i',
}
