package dialect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/internal/read"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// said is the answer that a string holds which [convert.AnswerText] and
// [convert.WithNote] wrote, or an agent that joins labels by ", ".
func said(q convert.Question, s string) convert.Answer {
	if a := saidPlain(q, s); a.Text == "" {
		return a
	}
	if strings.HasSuffix(s, ")") {
		// A label may look like a note, too: the last one is tried first.
		for i := strings.LastIndex(s, noteMark); i >= 0; i = strings.LastIndex(s[:i], noteMark) {
			if a := saidPlain(q, s[:i]); a.Text == "" && !a.Empty() {
				a.Note = strings.TrimSuffix(s[i+len(noteMark):], ")")
				return a
			}
		}
	}
	return saidPlain(q, s)
}

const noteMark = " (note: "

func saidPlain(q convert.Question, s string) convert.Answer {
	switch {
	case s == "":
		return convert.Answer{}
	case !q.MultiSelect && has(q, s):
		return convert.Answer{Selected: []string{s}}
	case !q.MultiSelect:
		return convert.Answer{Text: s}
	}
	if labels, ok := cutLabels(q, s); ok {
		return convert.Answer{Selected: labels}
	}
	return items(q, convert.Split(s))
}

// items is the answer of a list: labels, and own words among them.
func items(q convert.Question, list []string) (a convert.Answer) {
	var words []string
	for _, item := range list {
		switch {
		case has(q, item):
			a.Selected = append(a.Selected, item)
		case item != "":
			words = append(words, item)
		}
	}
	a.Text = strings.Join(words, ", ")
	return a
}

// cutLabels reads labels that were joined by ", " without quotes. Labels may
// hold that themselves, so other ways to cut are tried, a bounded number.
func cutLabels(q convert.Question, s string) ([]string, bool) {
	tries := 10_000
	var cut func(left []convert.Option, s string) ([]string, bool)
	cut = func(left []convert.Option, s string) ([]string, bool) {
		for i, o := range left {
			rest, ok := strings.CutPrefix(s, o.Label)
			if tries--; !ok || tries < 0 {
				continue
			}
			if rest == "" {
				return []string{o.Label}, true
			}
			if rest, ok = strings.CutPrefix(rest, ", "); !ok {
				continue
			}
			if more, ok := cut(slices.Delete(slices.Clone(left), i, i+1), rest); ok {
				return append([]string{o.Label}, more...), true
			}
		}
		return nil, false
	}
	return cut(q.Options, s)
}

func has(q convert.Question, label string) bool {
	return slices.ContainsFunc(q.Options, func(o convert.Option) bool { return o.Label == label })
}

// byText are the answers of a map from question texts to strings. A key that is
// no question's is an answer that would be lost.
func byText(c convert.Call, answers gjson.Result) (convert.Outcome, error) {
	if err := onlyTexts(c, answers); err != nil {
		return convert.Outcome{}, err
	}
	return eachSaid(c, func(i int) gjson.Result { return read.Field(answers, c.Questions[i].Text) })
}

// onlyTexts reports a key of a map that is no question's text.
func onlyTexts(c convert.Call, answers gjson.Result) error {
	return onlyKeys(answers, func(key string) bool {
		return slices.ContainsFunc(c.Questions, func(q convert.Question) bool { return q.Text == key })
	})
}

// onlyKeys reports a key of a map of answers that is no question's.
func onlyKeys(answers gjson.Result, known func(key string) bool) (stray error) {
	answers.ForEach(func(k, _ gjson.Result) bool {
		if !known(k.Str) {
			stray = notThe(fmt.Sprintf("answers to the questions that were asked, got one to %q", clean.Truncate(k.Str, 60)))
		}
		return stray == nil
	})
	return stray
}

// eachSaid is the outcome of one value a question.
func eachSaid(c convert.Call, value func(question int) gjson.Result) (convert.Outcome, error) {
	answers := make([]convert.Answer, len(c.Questions))
	for i, q := range c.Questions {
		v := value(i)
		list, err := strs(v)
		switch {
		case err != nil:
			return convert.Outcome{}, fmt.Errorf("question %d: %w", i+1, err)
		case v.IsArray():
			answers[i] = items(q, list)
		case len(list) == 1:
			answers[i] = said(q, list[0])
		}
	}
	return answered(answers)
}

// strs are the strings of a JSON array; a string is a list of one, and what is
// not there of none. Anything else is not what a user picked or wrote.
func strs(v gjson.Result) ([]string, error) {
	switch {
	case v.Type == gjson.Null:
		return nil, nil
	case v.Type == gjson.String:
		return []string{v.Str}, nil
	case !v.IsArray():
		return nil, notThe("a string or a list of strings, got " + read.Kind(v))
	}
	var list []string
	for _, item := range v.Array() {
		if item.Type != gjson.String {
			return nil, notThe("a list of strings, got " + read.Kind(item) + " in it")
		}
		list = append(list, item.Str)
	}
	return list, nil
}

// questions is the list of questions of the input, out of its string if it is
// in one.
func (d document) questions() []gjson.Result {
	list, _ := read.Embedded(read.Field(d.input, "questions"))
	if !list.IsArray() {
		return nil
	}
	return list.Array()
}

// typed reports whether the questions say of what type they are.
func (d document) typed() bool {
	return slices.ContainsFunc(d.questions(), func(q gjson.Result) bool { return q.Get("type").Exists() })
}
