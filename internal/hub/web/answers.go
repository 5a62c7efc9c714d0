package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
	"github.com/acp-bridge/acp-bridge/internal/claude/hook"
)

// errBadRequest is a request that makes no sense.
var errBadRequest = errors.New("bad request")

func badf(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errBadRequest}, args...)...)
}

// readQuery refuses a query of which a part would be passed over: an answer for a
// question whose name is lost would go to another one.
func readQuery(raw string) (url.Values, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, badf("query: %w", err)
	}
	for name, given := range values {
		switch {
		case len(given) > 1:
			return nil, badf("%s: expected one value, got %d", name, len(given))
		case given[0] == "" && (name == "question" || name == "revision" || name == "group"):
			return nil, badf("%s: expected a value, got nothing", name)
		}
	}
	return values, nil
}

// refusedError is why a call is not asked, with the result that its agent has for that:
// the model gets it as it is.
type refusedError struct {
	error
	result dialect.Result
}

func (e refusedError) Unwrap() error { return e.error }

func refused(name string, body []byte, err error) error {
	if bad, ok := errors.AsType[*convert.InputError](err); ok {
		if result, ok := dialect.Refuse(body, name, bad); ok {
			return refusedError{err, result}
		}
	}
	return err
}

// readAnswers reads the answers of a respond: an object by question text, or an
// array in their order. Every question is named; null leaves one without an
// answer.
func readAnswers(c convert.Call, data json.RawMessage) ([]convert.Answer, error) {
	values := make([]json.RawMessage, len(c.Questions))
	var list []json.RawMessage
	var byText map[string]json.RawMessage
	switch {
	case json.Unmarshal(data, &byText) == nil && byText != nil:
		if err := checkMembers(data, anyName); err != nil {
			return nil, err
		}
		for i, q := range c.Questions {
			v, ok := byText[q.Text]
			if slices.ContainsFunc(c.Questions[:i], func(o convert.Question) bool { return o.Text == q.Text }) {
				return nil, badf("two questions read %q: expected the answers as a list, in the order of the questions", q.Text)
			}
			if !ok {
				return nil, fmt.Errorf("%w: the question %q is left out", convert.ErrNoAnswer, q.Text)
			}
			values[i] = v
		}
		for text := range byText {
			if !slices.ContainsFunc(c.Questions, func(q convert.Question) bool { return q.Text == text }) {
				return nil, badf("the question %q was not asked", text)
			}
		}
	case json.Unmarshal(data, &list) == nil && list != nil:
		if len(list) != len(values) {
			return nil, badf("expected %d answers, got %d", len(values), len(list))
		}
		values = list
	default:
		return nil, badf(`expected {"answers":{"<question text>":"<answer>"}}`)
	}
	answers, any := make([]convert.Answer, len(values)), false
	for i, v := range values {
		a, err := readAnswer(c.Questions[i], v)
		if err != nil {
			return nil, err
		}
		answers[i] = a
		any = any || !a.Empty()
	}
	if !any {
		return nil, convert.ErrNoAnswer
	}
	return answers, nil
}

// readAnswer reads one answer: a string, a list of labels and words, or an
// object that says which is which.
func readAnswer(q convert.Question, data json.RawMessage) (convert.Answer, error) {
	var text string
	var list []string
	var exact exactAnswer
	var a convert.Answer
	switch {
	case string(data) == "null":
	case json.Unmarshal(data, &text) == nil:
		a = hook.ReadAnswer(q, text)
	case json.Unmarshal(data, &list) == nil:
		var words []string
		for _, item := range list {
			if hasLabel(q, item) {
				a.Selected = append(a.Selected, item)
			} else if strings.TrimSpace(item) != "" {
				words = append(words, item)
			}
		}
		a.Text = strings.Join(words, ", ")
	case exact.read(data) == nil:
		a = convert.Answer(exact)
	default:
		return a, badf("the answer to %q: expected a string, a list of strings, or an object with selected, text and note", q.Text)
	}
	return a, checkAnswer(q, a)
}

// exactAnswer is an answer that says which words are picks.
type exactAnswer struct {
	Selected []string
	Text     string
	Note     string
}

// read takes none but its own fields: an answer in a field that is not known
// would be thrown away.
func (a *exactAnswer) read(data []byte) error {
	return errors.Join(checkMembers(data, "selected text note"), json.Unmarshal(data, a))
}

func hasLabel(q convert.Question, s string) bool { return optionNamed(q, s) >= 0 }

func optionNamed(q convert.Question, s string) int {
	return slices.IndexFunc(q.Options, func(o convert.Option) bool { return o.Label == s })
}

func checkAnswer(q convert.Question, a convert.Answer) error {
	for _, s := range a.Selected {
		if !hasLabel(q, s) {
			return fmt.Errorf("%w: %q is not an option of %q", convert.ErrBadAnswer, s, q.Text)
		}
	}
	alone := slices.ContainsFunc(q.Options, func(o convert.Option) bool { return o.Effect != 0 && slices.Contains(a.Selected, o.Label) })
	switch {
	case alone && len(a.Selected)+min(len(a.Text), 1) > 1:
		return fmt.Errorf("%w: %q has an option that stands alone, and got more beside it", convert.ErrBadAnswer, q.Text)
	case !q.MultiSelect && len(a.Selected)+min(len(a.Text), 1) > 1:
		return fmt.Errorf("%w: %q takes one answer, got several", convert.ErrBadAnswer, q.Text)
	case a.Note != "" && len(a.Selected) == 0 && a.Text == "":
		return fmt.Errorf("%w: a note is no answer to %q", convert.ErrNoAnswer, q.Text)
	}
	return nil
}
