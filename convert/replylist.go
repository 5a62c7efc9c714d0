package convert

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// fit is what a piece of a reply names.
type fit struct {
	options []int // in option order
	fits    bool
	// unclear says why a piece that fits does not say which option is meant.
	unclear string
}

// add adds what another piece names.
func (f *fit) add(more fit) {
	f.fits = true
	f.unclear = cmp.Or(f.unclear, more.unclear)
	f.options = append(f.options, more.options...)
}

func (f fit) inOrder() fit {
	slices.Sort(f.options)
	f.options = slices.Compact(f.options)
	return f
}

// list reads labels and numbers with commas between them, all of which fit.
// A comma with a space comes first: labels may hold a bare comma.
func (w words) list(s string) fit {
	found := w.positions(s)
	if !found.fits {
		found = w.items(s, func(s string) int { return len(s) - len(strings.TrimPrefix(s, separator)) })
	}
	if !found.fits {
		found = w.items(s, func(s string) int {
			if r, n := utf8.DecodeRuneInString(s); isComma(r) {
				return n
			}
			return 0
		})
	}
	return found
}

// items reads the pieces of a list. Sep is the length of the separator that a
// text begins with, 0 for none.
func (w words) items(s string, sep func(string) int) fit {
	var all fit
	for s != "" {
		var item string
		item, s = cutItem(s, sep)
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		found := w.one(item)
		if !found.fits {
			found = w.positions(item)
		}
		if !found.fits {
			return fit{}
		}
		all.add(found)
	}
	return all.inOrder()
}

// cutItem cuts the first piece off a list. A separator in double quotes is part
// of a piece.
func cutItem(s string, sep func(string) int) (item, rest string) {
	if text := strings.TrimLeftFunc(s, unicode.IsSpace); strings.HasPrefix(text, `"`) {
		var quoted string
		if dec := json.NewDecoder(strings.NewReader(text)); dec.Decode(&quoted) == nil {
			item, rest = text[:dec.InputOffset()], strings.TrimLeftFunc(text[dec.InputOffset():], unicode.IsSpace)
			if rest == "" || sep(rest) > 0 {
				return item, rest[sep(rest):]
			}
		}
	}
	for i := range s {
		if n := sep(s[i:]); n > 0 {
			return s[:i], s[i+n:]
		}
	}
	return s, ""
}

// isComma reports what stands between the items of a list.
func isComma(r rune) bool { return strings.ContainsRune(",，、", r) }

// separates reports what stands between numbers.
func separates(r rune) bool {
	return unicode.IsSpace(r) || isComma(r) || strings.ContainsRune(";；", r)
}

// positions reads numbers of options and ranges of them, and nothing else.
func (w words) positions(s string) fit {
	if !w.numbers {
		return fit{}
	}
	var all fit
	for _, word := range strings.FieldsFunc(joinRanges(asciiDigits(s)), separates) {
		var found fit
		if isNumber(word) {
			found = w.one(word)
		} else {
			found = w.span(word)
		}
		if !found.fits {
			return fit{}
		}
		all.add(found)
	}
	return all.inOrder()
}

// offList is the first of the numbers that a reply consists of which is no option's,
// "" if there are other words.
func (w words) offList(s string) (off string) {
	if !w.numbers {
		return ""
	}
	numbers := strings.FieldsFunc(asciiDigits(s), func(r rune) bool { return separates(r) || isDash(r) })
	for _, n := range numbers {
		if !isNumber(n) {
			return ""
		}
		if _, on := w.position(n); !on && off == "" {
			off = n
		}
	}
	return off
}

// span reads a range such as 1-3.
func (w words) span(word string) fit {
	at := strings.IndexFunc(word, isDash)
	if at < 0 {
		return fit{}
	}
	first, last := word[:at], strings.TrimLeftFunc(word[at:], isDash)
	from, ok := w.position(first)
	to, ok2 := w.position(last)
	if !ok || !ok2 || to < from {
		return fit{}
	}
	var all fit
	all.add(w.one(first))
	all.add(w.one(last))
	for i := from; i <= to; i++ {
		all.options = append(all.options, i)
	}
	return all.inOrder()
}

func isDash(r rune) bool { return strings.ContainsRune("-–—", r) }

// joinRanges takes the space out of `1 - 3`.
func joinRanges(s string) string {
	words := strings.Fields(s)
	var b strings.Builder
	for i, word := range words {
		dash := strings.TrimFunc(word, isDash) == ""
		if b.Len() > 0 && !dash && (i == 0 || strings.TrimFunc(words[i-1], isDash) != "") {
			b.WriteByte(' ')
		}
		b.WriteString(word)
	}
	return b.String()
}

// position is the option, from 0, that a number means.
func (w words) position(s string) (int, bool) {
	if !w.numbers || !isNumber(s) {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimPrefix(bareNumber(s), "#"))
	return n - 1, err == nil && n >= 1 && n <= len(w.q.Options)
}

// isNumber reports whether a word is made of digits, as numbers of options are:
// without a sign.
func isNumber(s string) bool {
	digits := strings.TrimPrefix(bareNumber(s), "#")
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}

// bareNumber is a number without what people write behind it in a list.
func bareNumber(s string) string { return strings.TrimRight(asciiDigits(s), ".)") }

// unquote takes the quotes off a text.
func unquote(s string) (string, bool) {
	var text string
	if strings.HasPrefix(s, `"`) && json.Unmarshal([]byte(s), &text) == nil {
		return text, true
	}
	for _, pair := range []string{`""`, "''", "``", "“”", "‘’", "„“", "«»", "「」"} {
		_, n := utf8.DecodeRuneInString(pair)
		inside, ok := strings.CutPrefix(s, pair[:n])
		if !ok {
			continue
		}
		if inside, ok = strings.CutSuffix(inside, pair[n:]); ok {
			return inside, true
		}
	}
	return "", false
}

// asciiDigits replaces the decimal digits of other scripts by 0 to 9.
func asciiDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 || !unicode.Is(unicode.Nd, r) {
			return r
		}
		return '0' + digitValue(r)
	}, s)
}

// digitValue relies on Unicode's rule that decimal digits stand in runs of ten
// that begin with zero.
func digitValue(r rune) rune {
	n := rune(0)
	for unicode.Is(unicode.Nd, r-n-1) {
		n++
	}
	return n % 10
}
