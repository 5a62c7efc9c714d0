package convert

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Said is what the user's words mean as an answer to a question.
type Said struct {
	// Picks are positions of options, from 0, in option order.
	Picks []int
	// Text is an answer in the user's own words, trimmed.
	Text string
	// Cancel means that the user wants to dismiss the question.
	Cancel bool
	// Unclear says why the words are no answer and the question has to be
	// shown again; it is empty otherwise.
	Unclear string
}

// ReadMessage reads what a user typed in reply to [Message]: an exact label,
// a label in another case, numbers and ranges, or words of their own.
func ReadMessage(q Question, reply string) Said {
	reply = strings.TrimSpace(reply)
	if clean.Line(reply) == "" { // nothing that can be seen
		return Said{Unclear: "The reply was empty."}
	}
	if i, ok := findLabel(q, reply); ok {
		return Said{Picks: []int{i}}
	}
	if strings.EqualFold(reply, "cancel") {
		return Said{Cancel: true}
	}
	if q.Words {
		return Said{Text: reply}
	}
	picks, ok := readNumbers(q, reply)
	if ok && len(picks) > 1 && !q.MultiSelect {
		return Said{Unclear: "This question takes one answer."}
	}
	if !ok && q.MultiSelect {
		picks, ok = readList(q, reply)
	}
	switch {
	case ok && len(picks) > 1 && slices.ContainsFunc(picks, func(i int) bool { return q.Options[i].Act != 0 }):
		return Said{Unclear: "One of these options stands alone."}
	case ok:
		return Said{Picks: picks}
	case q.Closed:
		return Said{Unclear: "This question takes none but its options."}
	}
	return Said{Text: reply}
}

// findLabel looks for the exact label, then for one that differs in case only
// or in how it is shown. A reply that fits two labels fits none.
func findLabel(q Question, s string) (int, bool) {
	found, n := 0, 0
	for i, o := range q.Options {
		label := strings.TrimSpace(o.Label)
		if label == s {
			return i, true
		}
		if strings.EqualFold(label, s) || strings.EqualFold(clean.Line(o.Label), s) {
			found = i
			n++
		}
	}
	return found, n == 1
}

// readNumbers reads numbers of options and ranges of them. Anything else in
// the reply, or a number outside the list, makes it words.
func readNumbers(q Question, s string) ([]int, bool) {
	fields := strings.FieldsFunc(asciiDigits(s), func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(",;，、；", r)
	})
	picked := map[int]bool{}
	for _, f := range fields {
		f = strings.TrimRight(strings.TrimPrefix(f, "#"), ".)")
		from, to, ok := readRange(f)
		if !ok || from < 1 || to < from || to > len(q.Options) {
			return nil, false
		}
		for n := from; n <= to; n++ {
			picked[n-1] = true
		}
	}
	return inOrder(picked), len(picked) > 0
}

func readRange(s string) (from, to int, ok bool) {
	left, right := s, s
	if i := strings.IndexAny(s, "-–—"); i > 0 {
		left = s[:i]
		right = strings.TrimLeft(s[i:], "-–—")
	}
	from, err1 := number(left)
	to, err2 := number(right)
	return from, to, err1 == nil && err2 == nil
}

func number(s string) (int, error) {
	if s == "" || s[0] < '0' || s[0] > '9' { // no signs
		return 0, fmt.Errorf("not a number: %q", s)
	}
	return strconv.Atoi(s)
}

// readList reads labels and numbers apart by commas, all of which must fit.
func readList(q Question, s string) ([]int, bool) {
	picked := map[int]bool{}
	items := Split(s)
	if len(items) == 1 {
		items = strings.Split(s, ",")
	}
	for _, item := range items {
		item = strings.TrimSpace(item)
		if i, ok := findLabel(q, item); ok {
			picked[i] = true
			continue
		}
		numbers, ok := readNumbers(q, item)
		if !ok {
			return nil, false
		}
		for _, i := range numbers {
			picked[i] = true
		}
	}
	return inOrder(picked), true
}

func inOrder(set map[int]bool) []int {
	list := make([]int, 0, len(set))
	for i := range set {
		list = append(list, i)
	}
	slices.Sort(list)
	return list
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
	for _, run := range unicode.Nd.R16 {
		if rune(run.Lo) <= r && r <= rune(run.Hi) {
			return (r - rune(run.Lo)) % 10
		}
	}
	for _, run := range unicode.Nd.R32 {
		if rune(run.Lo) <= r && r <= rune(run.Hi) {
			return (r - rune(run.Lo)) % 10
		}
	}
	return 0
}
