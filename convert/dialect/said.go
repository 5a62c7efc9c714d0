package dialect

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/internal/read"
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

// byText are the answers of a map from question texts to strings.
func byText(c convert.Call, answers gjson.Result) []convert.Answer {
	list := make([]convert.Answer, len(c.Questions))
	for i, q := range c.Questions {
		list[i] = said(q, read.Field(answers, q.Text).String())
	}
	return list
}

// strs are the strings of a JSON array.
func strs(v gjson.Result) []string {
	var list []string
	for _, item := range v.Array() {
		list = append(list, item.String())
	}
	return list
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
