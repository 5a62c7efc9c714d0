package convert

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Meaning is what a reply in words means as the answer to a question. It is one
// of: picks, a text, both for a multi-select question, a cancel, or nothing yet,
// and then Unclear says why.
type Meaning struct {
	// Picks are positions of options, from 0, in option order.
	Picks []int
	// Text is an answer in the user's own words, trimmed.
	Text string
	// OffList is the first number in a text that is nothing but numbers: none of
	// them, or not all, are on the list. It may be a slip of a finger, and whoever
	// can ask back does.
	OffList string
	// Cancel means that the user wants to dismiss the question.
	Cancel bool
	// Other means that the user wrote `other` and nothing behind it: the words
	// are still to come. Unclear is set, too, for whoever asks again as a whole.
	Other bool
	// Unclear says why the reply is no answer, in a sentence for the user. The
	// question has to be asked again.
	Unclear string
}

// Answer is what the user picked and wrote.
func (m Meaning) Answer(q Question) Answer {
	a := Answer{Text: m.Text}
	for _, i := range m.Picks {
		a.Selected = append(a.Selected, q.Options[i].Label)
	}
	return a
}

// ReadReply reads what a person wrote in reply to a question. The same words
// mean the same wherever they are written:
//
//   - a label, or a label in another case, is that option
//   - a number is the option at that position, from 1; `#2` says the same
//   - `1,3`, `1 3`, `1-3` and `Auth, Logs` are several, where several are taken
//   - a label in quotes is that label and never a number
//   - `other` and a text is that text, the user's own words; `Other` at the
//     beginning of a sentence is a part of them, unless a colon follows it
//   - `cancel` dismisses the question, if no label says so
//   - anything else is the user's own words, where these are taken
//
// What fits two options, one by its label and one by its number, is unclear.
// Where there are no options to number, all words but `cancel` are the answer.
func (q Question) ReadReply(reply string) Meaning {
	return words{q, true}.read(reply)
}

// words reads replies to a question.
type words struct {
	q Question
	// numbers are positions. In JSON a number in quotes is none.
	numbers bool
}

const (
	sayEmpty  = "The reply was empty."
	sayOne    = "This question takes one answer."
	sayAlone  = "One of these options cannot be combined with others."
	sayClosed = "This question accepts only its options."
	sayOther  = "Write your own words behind `other`."
)

func (w words) read(reply string) Meaning {
	reply = strings.TrimSpace(reply)
	if clean.Blank(reply) {
		return Meaning{Unclear: sayEmpty}
	}
	w.numbers = w.numbers && !w.q.OwnWords
	if found := w.whole(reply); found.fits {
		return w.meaning(found, "")
	}
	switch {
	case strings.EqualFold(reply, "cancel"):
		return Meaning{Cancel: true}
	case w.q.OwnWords, len(w.q.Options) == 0:
		return Meaning{Text: reply}
	}
	if before, text, ok := w.cutOther(reply); ok {
		found := w.list(before)
		switch {
		case before != "" && !found.fits:
		case !clean.Blank(text) || found.unclear != "":
			return w.meaning(found, text)
		default:
			return Meaning{Picks: found.options, Other: true, Unclear: sayOther}
		}
	}
	if found := w.list(reply); found.fits {
		return w.meaning(found, "")
	}
	if w.q.Closed {
		return Meaning{Unclear: sayClosed}
	}
	return Meaning{Text: reply, OffList: w.offList(reply)}
}

// meaning is that of options which the reply names, and a text beside them.
func (w words) meaning(found fit, text string) Meaning {
	switch n := len(found.options); {
	case found.unclear != "":
		return Meaning{Unclear: found.unclear}
	case n > 1 && !w.q.MultiSelect:
		return Meaning{Unclear: sayOne}
	case n > 0 && n+min(len(text), 1) > 1 && w.standsAlone(found.options):
		return Meaning{Unclear: sayAlone}
	}
	return Meaning{Picks: found.options, Text: text}
}

func (w words) standsAlone(options []int) bool {
	return slices.ContainsFunc(options, func(i int) bool { return w.q.Options[i].Effect != 0 })
}

// cutOther finds the word `other` at the beginning, or behind a list of picks.
// All that follows it is the text, commas included.
func (w words) cutOther(s string) (before, text string, ok bool) {
	if w.q.Closed {
		return "", "", false
	}
	for at := 0; ; {
		if text, ok := afterOther(strings.TrimLeftFunc(s[at:], unicode.IsSpace)); ok {
			return strings.TrimRightFunc(s[:at], separates), text, true
		}
		next := strings.IndexFunc(s[at:], isComma)
		if next < 0 || !w.q.MultiSelect {
			return "", "", false
		}
		_, n := utf8.DecodeRuneInString(s[at+next:])
		at += next + n
	}
}

func afterOther(s string) (text string, ok bool) {
	const word = "other"
	if len(s) < len(word) || !strings.EqualFold(s[:len(word)], word) {
		return "", false
	}
	text = s[len(word):]
	switch r, _ := utf8.DecodeRuneInString(text); {
	case text == "", r == ':':
	case !unicode.IsSpace(r), s[:len(word)] == "Other" && strings.TrimSpace(text) != "":
		return "", false
	}
	return strings.TrimSpace(strings.TrimPrefix(text, ":")), true
}

// whole reads a reply as one label or one number. A label that looks like a list
// of numbers may be meant as that list.
func (w words) whole(s string) fit {
	found := w.one(s)
	if !found.fits || found.unclear != "" || !w.numbers || !w.q.MultiSelect {
		return found
	}
	if list := w.positions(s); list.fits && list.unclear == "" && len(list.options) > 1 {
		found.unclear = fmt.Sprintf(`"%s" is a label, and it could be a list of numbers. Write the label in quotes, or the numbers as %s.`,
			shorten(s), hashed(list.options))
	}
	return found
}

func hashed(options []int) string {
	names := make([]string, len(options))
	for i, o := range options {
		names[i] = "#" + strconv.Itoa(o+1)
	}
	return strings.Join(names, ", ")
}

// one reads a label or a number.
func (w words) one(s string) fit {
	i, n := w.label(s)
	if inside, quoted := unquote(s); quoted { // never a number
		j, m := w.label(inside)
		if n > 0 && m > 0 {
			return w.labelled(s, i, 2)
		}
		return w.labelled(inside, max(i, j), n+m)
	}
	p, ok := w.position(s)
	switch {
	case !ok:
		return w.labelled(s, i, n)
	case n == 0 && s[0] != '#':
		i, n = w.label(bareNumber(s))
	}
	if n == 0 || n == 1 && i == p {
		return fit{options: []int{p}, fits: true}
	}
	return fit{fits: true, unclear: w.clash(bareNumber(s), i, p)}
}

// labelled is the option whose label was found n times, last at i.
func (w words) labelled(s string, i, n int) fit {
	switch n {
	case 0:
		return fit{}
	case 1:
		return fit{options: []int{i}, fits: true}
	}
	return fit{fits: true, unclear: fmt.Sprintf(`"%s" fits more than one option. Write one of them exactly, or its number.`, shorten(s))}
}

// clash says how to write what is a label and another option's number.
func (w words) clash(s string, label, position int) string {
	number := "#" + strconv.Itoa(position+1)
	if _, n := w.label(number); n > 0 { // that is a label as well
		number = strconv.Itoa(position + 1)
	}
	return fmt.Sprintf(`"%s" is the label of option %d and the number of another. Write the label in quotes, or the number as %s.`,
		shorten(s), label+1, number)
}

// label finds the option with this label, or with one that differs in case only
// or in how it is shown. It returns how many fit equally well.
func (w words) label(s string) (found, n int) {
	if i := slices.IndexFunc(w.q.Options, func(o Option) bool { return o.Label == s }); i >= 0 {
		return i, 1
	}
	digits := asciiDigits(s)
	var shown, alike []int
	for i := range w.q.Options {
		label := strings.TrimSpace(w.q.Options[i].Label)
		line := clean.Line(label)
		switch {
		case label == s, line == s:
			shown = append(shown, i)
		case strings.EqualFold(asciiDigits(label), digits), strings.EqualFold(asciiDigits(line), digits):
			alike = append(alike, i)
		}
	}
	if len(shown) == 0 {
		shown = alike
	}
	if len(shown) == 0 {
		return 0, 0
	}
	return shown[0], len(shown)
}
