package convert

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// answerList takes apart what was written down: one JSON value per question.
func answerList(c Call, data []byte) ([][]byte, error) {
	v, err := written(data)
	switch {
	case err != nil:
		return nil, err
	case v.IsArray():
		return answersInOrder(c, v.Array())
	case v.IsObject() && !(len(c.Questions) == 1 && isAnswer(c, v)):
		return answersByText(c, v, false)
	case len(c.Questions) == 1:
		return [][]byte{[]byte(v.Raw)}, nil
	}
	return nil, wrongType(0, 0, "answers", answersForm, v)
}

const answersForm = "an array with one answer per question, or an object by question text"

func answersInOrder(c Call, list []gjson.Result) ([][]byte, error) {
	if n := len(c.Questions); len(list) > n {
		hint := ""
		if n == 1 && c.Questions[0].MultiSelect {
			hint = "; several picks for one question are a list in the list, such as [[1,2]]"
		}
		return nil, &InputError{n, 0, ErrBadAnswer, fmt.Sprintf("%q is the last question, but there are %d answers for %d%s",
			shortText(c.Questions[n-1]), len(list), n, hint)}
	}
	given := make([][]byte, len(c.Questions))
	for i, q := range c.Questions {
		if i >= len(list) {
			return nil, &InputError{i + 1, 0, ErrNoAnswer, fmt.Sprintf("%q (%d given for %d questions)",
				shortText(q), len(list), len(c.Questions))}
		}
		given[i] = []byte(list[i].Raw)
	}
	return given, nil
}

// isAnswer reports whether an object is the exact form of one answer.
func isAnswer(c Call, object gjson.Result) bool {
	is := true
	object.ForEach(func(k, _ gjson.Result) bool {
		is = k.Str == "selected" || k.Str == "text" || k.Str == "note"
		return is
	})
	return is && len(questionsNamed(c, "selected", "text", "note")) == 0
}

// answersByText reads an object whose keys are the texts of the questions. The
// texts of others are an error, or passed over.
func answersByText(c Call, object gjson.Result, others bool) ([][]byte, error) {
	given := make([][]byte, len(c.Questions))
	var unknown []string
	var err error
	object.ForEach(func(k, v gjson.Result) bool {
		switch found := questionsNamed(c, k.Str); {
		case len(found) == 0:
			unknown = append(unknown, fmt.Sprintf("%q", clean.Truncate(clean.Line(k.Str), 60)))
		case len(found) > 1:
			err = &InputError{found[1] + 1, 0, ErrDuplicateQuestion, "give the answers in order, as an array"}
		case given[found[0]] != nil:
			err = &InputError{found[0] + 1, 0, ErrBadAnswer, answeredTwice(c.Questions[found[0]])}
		default:
			given[found[0]] = []byte(v.Raw)
		}
		return err == nil
	})
	if err != nil {
		return nil, err
	}
	if len(unknown) > 0 && !others {
		return nil, &InputError{Err: ErrBadAnswer, Detail: "no such question: " + strings.Join(unknown, separator)}
	}
	for i, q := range c.Questions {
		if given[i] == nil {
			return nil, &InputError{i + 1, 0, ErrNoAnswer, fmt.Sprintf("%q", shortText(q))}
		}
	}
	return given, nil
}

func answeredTwice(q Question) string { return fmt.Sprintf("%q is answered twice", shortText(q)) }

// questionsNamed are the questions, from 0, with one of these texts: exactly, or
// as they are shown.
func questionsNamed(c Call, texts ...string) (found []int) {
	for _, exact := range []bool{true, false} {
		for i, q := range c.Questions {
			for _, text := range texts {
				if q.Text == text || !exact && clean.Line(q.Text) == clean.Line(text) {
					found = append(found, i)
				}
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// Words lists what [Call.ReadAnswers] takes for the user's own words though its
// question has options: a label, perhaps, that was not written as it stands. Own
// words in the exact form are meant as such, and are not among them.
func (c Call) Words(data []byte) []string {
	given, err := answerList(c, data)
	if err != nil {
		return nil
	}
	var list []string
	for i, q := range c.Questions {
		if len(q.Options) == 0 || q.OwnWords || gjson.ParseBytes(given[i]).IsObject() {
			continue
		}
		if a, err := c.ReadAnswer(i, given[i]); err == nil && a.Text != "" {
			list = append(list, a.Text)
		}
	}
	return list
}

// AnswersOf takes the answers to a call's questions out of an object by question
// text that may have those to others, too: for a call without any it says what is wrong
// with the object. It returns them as an array for
// [Call.ReadAnswers].
func (c Call) AnswersOf(object []byte) ([]byte, error) {
	v, err := written(object)
	if err == nil && !v.IsObject() {
		err = wrongType(0, 0, "answers", "an object by question text", v)
	}
	if err == nil {
		err = answeredOnce(v)
	}
	if err != nil {
		return nil, err
	}
	given, err := answersByText(c, v, true)
	if err != nil {
		return nil, err
	}
	return slices.Concat([]byte("["), bytes.Join(given, []byte(",")), []byte("]")), nil
}

// answeredOnce says which question an object by question text answers twice.
func answeredOnce(v gjson.Result) (err error) {
	seen := map[string]bool{}
	v.ForEach(func(k, _ gjson.Result) bool {
		if seen[k.Str] {
			err = &InputError{Err: ErrBadAnswer, Detail: answeredTwice(Question{Text: k.Str})}
		}
		seen[k.Str] = true
		return err == nil
	})
	return err
}

// written reads what was written down.
func written(data []byte) (v gjson.Result, err error) {
	if !clean.ValidJSON(data) {
		return v, &InputError{Err: ErrInvalidJSON, Detail: "expected " + answersForm}
	}
	return gjson.ParseBytes(bytes.ToValidUTF8(data, []byte("\uFFFD"))), nil
}
