package picker

import (
	"strconv"
	"strings"
)

// numbering says what the numbers before the entries are for. A key that is
// pressed for the number of one entry must never pick another, whose label
// begins with it.
type numbering int

const (
	// numbersPick: a digit picks the entry with that number.
	numbersPick numbering = iota
	// numbersGo: there are numbers of two digits. What is typed moves the focus.
	numbersGo
	// numbersNone: a label begins with the number of another entry. There are no
	// numbers, and digits do nothing.
	numbersNone
)

// numberAs finds out what numbers are good for.
func (s *sheet) numberAs() numbering {
	last := len(s.rows)
	as := numbersPick
	if last > 9 {
		as = numbersGo
	}
	if s.other && last != 9 { // behind nine Other is 0
		last++
	}
	for i, r := range s.rows {
		digits := r.label[:len(r.label)-len(strings.TrimLeft(r.label, "0123456789"))]
		if as == numbersPick && digits != "" {
			digits = digits[:1]
		}
		if n, err := strconv.Atoi(digits); err == nil && n >= 1 && n <= last && n != i+1 {
			return numbersNone
		}
	}
	return as
}

// mark is what stands before an entry's label.
func (s *sheet) mark(entry int) string {
	mark := ""
	if s.numbers != numbersNone {
		last, n := strconv.Itoa(len(s.rows)+1), strconv.Itoa(entry+1)
		if s.numbers == numbersPick {
			last = "9"
		}
		if len(n) > len(last) { // Other behind nine options
			n = "0"
		}
		mark = strings.Repeat(" ", len(last)-len(n)) + n + ". "
	}
	switch {
	case s.single():
	case s.isOther(entry) && s.ownWords || !s.isOther(entry) && s.picked[entry]:
		mark += "[x] "
	default:
		mark += "[ ] "
	}
	return mark
}

// digit is a digit in the list. 0 is Other, unless it goes on with a number.
func (p *Picker) digit(s *sheet, digit string) {
	switch {
	case s.numbers == numbersNone:
		how := "Enter"
		if s.q.MultiSelect {
			how = "Space"
		}
		p.message = "Labels here begin with numbers: choose with ↑↓ and " + how
	case digit == "0" && s.typed == "":
		if s.other && s.focusOn(len(s.rows)) {
			s.editOther()
		}
	case s.numbers == numbersGo:
		if n, _ := strconv.Atoi(s.typed + digit); s.focusOn(n - 1) {
			s.typed += digit
			return
		}
		s.typed = ""
		if n, _ := strconv.Atoi(digit); n == 0 {
			p.digit(s, digit)
		} else if s.focusOn(n - 1) {
			s.typed = digit
		}
	default:
		if n, _ := strconv.Atoi(digit); s.focusOn(n - 1) {
			if s.q.MultiSelect {
				p.toggle(s)
			} else {
				p.pick(s)
			}
		}
	}
}
