package convert

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// ReadAnswers reads answers that were written down beforehand: a JSON array with
// one entry per question in their order, or an object whose keys are the texts of
// the questions. Each entry is as [Call.ReadAnswer] takes it. The answer to a single
// question may stand alone.
//
// A question without an answer, and an answer without a question, are errors
// that name them. The error matches [ErrCancelled] if an answer is the word that
// dismisses the questions.
func (c Call) ReadAnswers(data []byte) ([]Answer, error) {
	given, err := answerList(c, data)
	if err != nil {
		return nil, err
	}
	answers := make([]Answer, len(c.Questions))
	for i, q := range c.Questions {
		a, err := c.ReadAnswer(i, given[i])
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

// ReadAnswer reads the answer to the call's question at position i, from 0, as
// people write it into JSON:
//
//   - a number is the option at that position, from 1
//   - a string is what [Question.ReadReply] makes of it, but never a number: a label, a
//     list of labels, or the user's own words
//   - an array of these is several of them
//   - an object {"selected":[…],"text":"…","note":"…"} is exact: its text is never
//     taken for a label or a word such as `cancel`
//
// A question without options takes a number as the text it is. null, a blank
// string and an empty array say nothing: the zero Answer. An error is an
// [InputError]; it matches [ErrCancelled] for the word that dismisses the
// question.
func (c Call) ReadAnswer(i int, data []byte) (Answer, error) {
	if !clean.ValidJSON(data) {
		return Answer{}, &InputError{i + 1, 0, ErrInvalidJSON, "expected an answer"}
	}
	g := given{q: c.Questions[i], pos: i + 1}
	v := gjson.ParseBytes(bytes.ToValidUTF8(data, []byte("\uFFFD")))
	switch {
	case v.Type == gjson.Null, v.Type == gjson.String && clean.Blank(v.Str):
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
		return Answer{}, g.tooMany(len(items))
	}
	for _, item := range items {
		if err := g.item(item); err != nil {
			return Answer{}, err
		}
	}
	return g.answer()
}

func (g *given) tooMany(n int) error {
	return g.badf("%q takes one answer, got %d", shortText(g.q), n)
}

// item reads one string or number.
func (g *given) item(v gjson.Result) error {
	switch v.Type {
	case gjson.String:
		return g.words(v.Str)
	case gjson.Number:
		return g.number(v)
	}
	return wrongType(g.pos, 0, "answer", "a label, a number, your own words, or a list of them", v)
}

func (g *given) words(s string) error {
	said := words{g.q, false}.read(s)
	switch {
	case said.Unclear == sayEmpty:
		return g.badf("an entry of the list is empty")
	case said.Unclear != "":
		return g.badf("%q: %s", clean.Truncate(clean.Line(s), 40), strings.TrimSuffix(said.Unclear, "."))
	case said.Cancel:
		return &InputError{g.pos, 0, ErrCancelled, `the answer is the word cancel; as a text it is {"text":"cancel"}`}
	}
	g.picks = append(g.picks, said.Picks...)
	if said.Text != "" {
		g.texts = append(g.texts, said.Text)
	}
	return nil
}

func (g *given) number(v gjson.Result) error {
	if len(g.q.Options) == 0 || g.q.OwnWords {
		g.texts = append(g.texts, v.Raw)
		return nil
	}
	i, err := g.option(v)
	if err == nil {
		g.picks = append(g.picks, i)
	}
	return err
}

// option is the option that a number means.
func (g *given) option(v gjson.Result) (int, error) {
	if i := v.Int(); float64(i) == v.Num && i >= 1 && i <= int64(len(g.q.Options)) {
		return int(i) - 1, nil
	}
	hint := "; a number is the option at that position"
	if !g.q.Closed {
		hint += ", in quotes it is your own words"
	}
	return 0, g.badf("there is no option %s, only 1 to %d%s", clean.Truncate(v.Raw, 40), len(g.q.Options), hint)
}

// object reads the exact form, in which nothing is guessed.
func (g *given) object(v gjson.Result) (a Answer, err error) {
	seen := map[string]bool{}
	v.ForEach(func(k, v gjson.Result) bool {
		if seen[k.Str] {
			err = g.badf("%s is given twice", k.Str)
			return false
		}
		seen[k.Str] = true
		switch k.Str {
		case "selected":
			err = g.selected(v)
		case "text":
			a.Text, err = text(v, g.pos, 0, "text")
		case "note":
			a.Note, err = text(v, g.pos, 0, "note")
		default:
			err = g.badf("an answer has selected, text and note, not %q", clean.Truncate(clean.Line(k.Str), 40))
		}
		return err == nil
	})
	if err != nil {
		return Answer{}, err
	}
	a.Selected = g.labels()
	return g.fits(a)
}

func (g *given) selected(v gjson.Result) error {
	w := words{g.q, false}
	for _, item := range v.Array() {
		var err error
		i, n := 0, 0
		switch item.Type {
		case gjson.Number:
			i, err = g.option(item)
		case gjson.String:
			if i, n = w.label(item.Str); n != 1 {
				err = g.badf("%q has no option %s", shortText(g.q), clean.Truncate(item.Raw, 40))
			}
		default:
			err = wrongType(g.pos, 0, "selected", "a label, a number, or a list of them", item)
		}
		if err != nil {
			return err
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
	return g.fits(Answer{Selected: g.labels(), Text: strings.Join(g.texts, separator)})
}

// fits refuses an answer that its question does not take.
func (g *given) fits(a Answer) (Answer, error) {
	n := len(a.Items())
	switch {
	case n > 1 && !g.q.MultiSelect:
		return Answer{}, g.tooMany(n)
	case n > 1 && words{q: g.q}.standsAlone(g.picks):
		return Answer{}, g.badf("one of the options cannot be combined with others")
	case g.q.Fits(a) != nil:
		return Answer{}, g.badf("%q accepts only its options, and no words beside them", shortText(g.q))
	}
	return a, nil
}

// WriteAnswer writes an answer to the call's question at position i as a
// person would write it for [Call.ReadAnswer], which reads it back unchanged.
func (c Call) WriteAnswer(i int, a Answer) []byte {
	if a.Empty() && a.Note == "" {
		return []byte("null")
	}
	items := a.Items()
	if a.Note == "" {
		plain := clean.JSON(items)
		if !c.Questions[i].MultiSelect && len(items) == 1 {
			plain = clean.JSON(items[0])
		}
		back, err := c.ReadAnswer(i, plain)
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

func shortText(q Question) string { return clean.Truncate(clean.Line(q.Text), 60) }
