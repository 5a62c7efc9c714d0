package terminal

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/acp-bridge/acp-bridge/adapter/internal/picker"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// reading is what a line says about a question.
type reading struct {
	q     convert.Question
	picks []int  // positions of options
	other bool   // Other was picked
	text  string // the words that go with it
}

// answer is the reading as an answer.
func (r *reading) answer() convert.Answer {
	a := convert.Answer{Text: r.text}
	slices.Sort(r.picks)
	for _, i := range slices.Compact(r.picks) {
		a.Selected = append(a.Selected, r.q.Options[i].Label)
	}
	return a
}

// parse takes a line as the answer: a label in any case, a number, or "other"
// and text; with several picks, more of them with commas between. What is
// typed in a label's exact words is that label, whatever else it could mean.
// It returns what is wrong with the line, and then changes nothing.
func (r *reading) parse(text string) (say string) {
	text = strings.TrimSpace(text)
	if i := r.labelled(text); i >= 0 {
		r.picks = []int{i}
		return ""
	}
	if own, ok := r.own(text); ok {
		r.other, r.text = true, own
		return ""
	}
	if !r.q.MultiSelect {
		return r.pick(text)
	}
	next := reading{q: r.q}
	for rest := text; rest != ""; {
		if t, ok := r.own(rest); ok { // commas after "other" are part of the text
			next.other, next.text = true, t
			break
		}
		var item string
		item, rest, _ = strings.Cut(rest, ",")
		rest = strings.TrimSpace(rest)
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		if say := next.pick(item); say != "" {
			return say
		}
	}
	if len(next.picks) == 0 && !next.other {
		return "Nothing picked."
	}
	*r = next
	return ""
}

// labelled is the option with that label, -1 if there is none. A label in the
// same case comes before one in another.
func (r *reading) labelled(text string) int {
	for i, o := range r.q.Options {
		if o.Label == text || picker.Label(o) == text {
			return i
		}
	}
	return slices.IndexFunc(r.q.Options, func(o convert.Option) bool { return strings.EqualFold(picker.Label(o), text) })
}

// own is the text after "other".
func (r *reading) own(text string) (string, bool) {
	if r.q.Closed {
		return "", false
	}
	if strings.EqualFold(text, picker.OtherLabel) {
		return "", true
	}
	word, rest, _ := strings.Cut(text, " ")
	if !strings.EqualFold(strings.TrimSuffix(word, ":"), "other") {
		return "", false
	}
	return strings.TrimSpace(rest), true
}

// pick adds what a number or a label means.
func (r *reading) pick(text string) (say string) {
	if i := r.labelled(text); i >= 0 {
		r.picks = append(r.picks, i)
		return ""
	}
	last := len(r.q.Options)
	if !r.q.Closed {
		last++
	}
	n, err := strconv.Atoi(strings.TrimSuffix(text, "."))
	switch {
	case err != nil && !r.q.Closed:
		return fmt.Sprintf("%q is not one of the options. For your own words type: other %s", clean.Line(text), clean.Line(text))
	case err != nil:
		return fmt.Sprintf("%q is not one of the options.", clean.Line(text))
	case !r.q.Closed && (n == 0 || n == last):
		r.other = true
		return ""
	case n < 1 || n > last:
		return fmt.Sprintf("There is no number %d: type 1 to %d.", n, last)
	}
	r.picks = append(r.picks, n-1)
	return ""
}
