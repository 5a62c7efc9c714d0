package terminal

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// parse takes a line as the answer: a label in any case, a number, or "other"
// and text; with several picks, more of them with commas between. What is
// typed in a label's exact words is that label, whatever else it could mean.
// It returns what is wrong with the line, and then changes nothing.
func (s *sheet) parse(text string) (say string) {
	text = strings.TrimSpace(text)
	if i := s.labelled(text); i >= 0 {
		s.take([]int{i}, "")
		return ""
	}
	if own, ok := s.own(text); ok {
		s.take([]int{len(s.rows)}, own)
		return ""
	}
	if s.single() {
		i, say := s.entryOf(text)
		if say == "" {
			s.take([]int{i}, "")
		}
		return say
	}
	var picks []int
	var own string
	for rest := text; rest != ""; {
		if t, ok := s.own(rest); ok { // commas after "other" are part of the text
			picks, own = append(picks, len(s.rows)), t
			break
		}
		var item string
		item, rest, _ = strings.Cut(rest, ",")
		rest = strings.TrimSpace(rest)
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		i, say := s.entryOf(item)
		if say != "" {
			return say
		}
		picks = append(picks, i)
	}
	if len(picks) == 0 {
		return "Nothing picked."
	}
	s.take(picks, own)
	return ""
}

// labelled is the option with that label, -1 if there is none. A label in the
// same case comes before one in another.
func (s *sheet) labelled(text string) int {
	for i, o := range s.q.Options {
		if o.Label == text || s.rows[i].label == text {
			return i
		}
	}
	for i, r := range s.rows {
		if strings.EqualFold(r.label, text) {
			return i
		}
	}
	return -1
}

// own is the text after "other".
func (s *sheet) own(text string) (string, bool) {
	if !s.other {
		return "", false
	}
	if strings.EqualFold(text, otherLabel) {
		return "", true
	}
	word, rest, _ := strings.Cut(text, " ")
	if !strings.EqualFold(strings.TrimSuffix(word, ":"), "other") {
		return "", false
	}
	return strings.TrimSpace(rest), true
}

// entryOf is the entry that a number or a label means.
func (s *sheet) entryOf(text string) (entry int, say string) {
	if i := s.labelled(text); i >= 0 {
		return i, ""
	}
	last := len(s.rows)
	if s.other {
		last++
	}
	n, err := strconv.Atoi(strings.TrimSuffix(text, "."))
	switch {
	case err != nil && s.other:
		return 0, fmt.Sprintf("%q is not one of the options. For your own words type: other %s", clean.Line(text), clean.Line(text))
	case err != nil:
		return 0, fmt.Sprintf("%q is not one of the options.", clean.Line(text))
	case n == 0 && s.other:
		return len(s.rows), ""
	case n < 1 || n > last:
		return 0, fmt.Sprintf("There is no number %d: type 1 to %d.", n, last)
	}
	return n - 1, ""
}

// take sets the answer to the entries, and the text if Other is among them.
func (s *sheet) take(entries []int, own string) {
	s.chosen = entries[0]
	s.ownWords = false
	clear(s.picked)
	s.answer.set(own)
	for _, e := range entries {
		if s.isOther(e) {
			s.ownWords = true
			continue
		}
		s.picked[e] = true
	}
}

// wantsText reports whether Other was picked without words.
func (s *sheet) wantsText() bool {
	return s.other && s.answer.value() == "" && (s.single() && s.isOther(s.chosen) || !s.single() && s.ownWords)
}
