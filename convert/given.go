package convert

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// ReadAnswers reads answers that were written down beforehand: a JSON array
// with one entry per question, each as [ReadAnswer] takes it. A question
// without an answer is an error that names it.
func ReadAnswers(c Call, data []byte) ([]Answer, error) {
	data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	list := gjson.ParseBytes(data)
	if !clean.ValidJSON(data) || !list.IsArray() {
		return nil, &InputError{Err: ErrInvalidJSON, Detail: "expected an array with one answer per question"}
	}
	given := list.Array()
	if len(given) > len(c.Questions) {
		n := len(c.Questions)
		return nil, &InputError{n, 0, ErrBadAnswer, fmt.Sprintf("%q is the last question, but there are %d answers for %d",
			shortText(c.Questions[n-1]), len(given), n)}
	}
	answers := make([]Answer, len(c.Questions))
	for i, q := range c.Questions {
		if i >= len(given) {
			return nil, &InputError{i + 1, 0, ErrNoAnswer, fmt.Sprintf("%q (%d given for %d questions)",
				shortText(q), len(given), len(c.Questions))}
		}
		a, err := ReadAnswer(c, i, []byte(given[i].Raw))
		if err != nil {
			return nil, err
		}
		if a.Empty() {
			return nil, &InputError{i + 1, 0, ErrNoAnswer, fmt.Sprintf("%q", shortText(q))}
		}
		answers[i] = a
	}
	return answers, nil
}

func shortText(q Question) string { return clean.Truncate(clean.Line(q.Text), 60) }

// ReadAnswer reads the answer to the call's question at position i, from 0, as
// people write it into JSON:
//
//   - a string: a label in any case, the number of an option, or the user's
//     own words
//   - a number: that option; for a question without options, the number itself
//   - an array of these, for several picks
//   - an object {"selected":[…],"text":"…","note":"…"}, whose text is never
//     taken for a label or a number
//
// null, a blank string and an empty array say nothing: the zero Answer. An
// error is an [InputError].
func ReadAnswer(c Call, i int, data []byte) (Answer, error) {
	if !clean.ValidJSON(data) {
		return Answer{}, &InputError{i + 1, 0, ErrInvalidJSON, "expected an answer"}
	}
	data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	g := given{q: c.Questions[i], pos: i + 1}
	v := gjson.ParseBytes(data)
	switch {
	case v.Type == gjson.Null, v.Type == gjson.String && strings.TrimSpace(v.Str) == "":
		return Answer{}, nil
	case v.IsObject():
		return g.object(v)
	case v.IsArray():
		return g.list(v)
	}
	if err := g.item(v); err != nil {
		return Answer{}, err
	}
	return g.answer()
}

// given collects what an answer that was written down says.
type given struct {
	q     Question
	pos   int // from 1
	picks []int
	texts []string
}

func (g *given) badf(format string, args ...any) error {
	return &InputError{g.pos, 0, ErrBadAnswer, fmt.Sprintf(format, args...)}
}

func (g *given) list(v gjson.Result) (Answer, error) {
	items := v.Array()
	if len(items) > 1 && !g.q.MultiSelect {
		return Answer{}, g.badf("%q takes one answer, got %d", shortText(g.q), len(items))
	}
	for _, item := range items {
		if err := g.item(item); err != nil {
			return Answer{}, err
		}
	}
	return g.answer()
}

// item reads one string or number.
func (g *given) item(v gjson.Result) error {
	switch v.Type {
	case gjson.String:
		return g.words(v.Str)
	case gjson.Number:
		return g.number(v.Raw)
	}
	return wrongType(g.pos, 0, "answer", "a label, a number, your own words, or a list of them", v)
}

func (g *given) words(s string) error {
	said := ReadMessage(g.q, s)
	switch {
	case strings.TrimSpace(s) == "":
		return g.badf("an entry of the list is empty")
	case said.Unclear != "":
		return g.badf("%q takes one answer, got %q", shortText(g.q), s)
	case len(said.Picks) > 0:
		g.picks = append(g.picks, said.Picks...)
	default: // also for the word that cancels in a conversation
		g.texts = append(g.texts, strings.TrimSpace(s))
	}
	return nil
}

func (g *given) number(raw string) error {
	said := ReadMessage(g.q, raw)
	switch {
	case len(said.Picks) == 1:
		g.picks = append(g.picks, said.Picks...)
	case len(g.q.Options) == 0:
		g.texts = append(g.texts, raw)
	default:
		return g.badf("there is no option %s, only 1 to %d; in quotes it is taken as text", raw, len(g.q.Options))
	}
	return nil
}

// object reads the exact form, in which nothing is guessed.
func (g *given) object(v gjson.Result) (a Answer, err error) {
	v.ForEach(func(k, v gjson.Result) bool {
		switch k.Str {
		case "selected":
			err = g.selected(v)
		case "text":
			a.Text, err = text(v, g.pos, 0, "text")
		case "note":
			a.Note, err = text(v, g.pos, 0, "note")
		default:
			err = g.badf("an answer has selected, text and note, not %q", k.Str)
		}
		return err == nil
	})
	if err != nil {
		return Answer{}, err
	}
	a.Selected = g.labels()
	if !g.q.MultiSelect && len(a.Items()) > 1 {
		return Answer{}, g.badf("%q takes one answer, got %d", shortText(g.q), len(a.Items()))
	}
	return a, nil
}

func (g *given) selected(v gjson.Result) error {
	g.picks = nil
	for _, item := range v.Array() {
		i := slices.IndexFunc(g.q.Options, func(o Option) bool { return o.Label == item.Str })
		if i < 0 {
			if n := ReadMessage(g.q, item.String()); len(n.Picks) == 1 {
				i = n.Picks[0]
			}
		}
		if i < 0 || item.Type != gjson.String && item.Type != gjson.Number {
			return g.badf("%q has no option %s", shortText(g.q), item.Raw)
		}
		g.picks = append(g.picks, i)
	}
	return nil
}

func (g *given) labels() []string {
	slices.Sort(g.picks)
	var labels []string
	for _, i := range slices.Compact(g.picks) {
		labels = append(labels, g.q.Options[i].Label)
	}
	return labels
}

func (g *given) answer() (Answer, error) {
	return Answer{Selected: g.labels(), Text: strings.Join(g.texts, separator)}, nil
}

// WriteAnswer writes an answer to the call's question at position i as a
// person would write it for [ReadAnswer], which reads it back unchanged.
func WriteAnswer(c Call, i int, a Answer) []byte {
	if a.Empty() && a.Note == "" {
		return []byte("null")
	}
	items := a.Items()
	if a.Note == "" {
		plain := clean.JSON(items)
		if !c.Questions[i].MultiSelect && len(items) == 1 {
			plain = clean.JSON(items[0])
		}
		back, err := ReadAnswer(c, i, plain)
		if err == nil && back.Text == a.Text && slices.Equal(back.Selected, a.Selected) {
			return plain
		}
	}
	return clean.JSON(struct {
		Selected []string `json:"selected,omitempty"`
		Text     string   `json:"text,omitempty"`
		Note     string   `json:"note,omitempty"`
	}{a.Selected, a.Text, a.Note})
}
