package convert

import (
	"cmp"
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert/internal/read"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Limits bound what a call may hold. The zero value is Claude's: 1 to 4
// questions with 2 to 4 options each, no two questions with the same text.
type Limits struct {
	// MaxQuestions is the largest number of questions; 0 stands for 4, a
	// negative number for as many as a person can be asked, 100.
	MaxQuestions int
	// MinOptions and MaxOptions bound the options of a question that has
	// options; 0 stands for 2 and 4, a negative number for 1 and 1000.
	MinOptions, MaxOptions int
	// FreeText allows questions without options.
	FreeText bool
	// RequireHeader asks for a header on each question.
	RequireHeader bool
	// RepeatQuestions allows two questions with the same text. A result that
	// maps question texts to answers cannot hold both.
	RepeatQuestions bool
}

// NoLimits let everything through that can be asked: for calls that somebody else
// has checked, and where positions tell the questions apart.
var NoLimits = Limits{MaxQuestions: -1, MinOptions: -1, MaxOptions: -1, FreeText: true, RepeatQuestions: true}

// Claude's limits, the default.
const (
	MaxQuestions = 4
	MinOptions   = 2
	MaxOptions   = 4
)

func limit(n, zero, negative int) int {
	if n < 0 {
		return negative
	}
	return cmp.Or(n, zero)
}

// Parse reads the input of a question tool and validates it. Questions may be
// an array or a JSON string that holds one; options may be objects or plain
// strings; fields that are not known stay in [Call.Input]. Of keys that occur
// twice the last counts, as it does for the agents that write them.
//
// An error is an [InputError]; nothing of the call is returned beside it.
func Parse(input []byte, limits Limits) (Call, error) {
	if !clean.ValidJSON(input) {
		return Call{}, &InputError{Err: ErrInvalidJSON, Detail: "expected an object with questions"}
	}
	if read.TooDeep(input) {
		return Call{}, tooDeep()
	}
	root := gjson.ParseBytes(input)
	if !root.IsObject() {
		return Call{}, wrongType(0, 0, "input", "an object", root)
	}
	list, err := questionList(root)
	if err == nil && read.TooDeep([]byte(list.Raw)) { // it may come out of a string
		err = tooDeep()
	}
	if err != nil {
		return Call{}, err
	}
	call := Call{Input: input}
	list.ForEach(func(_, v gjson.Result) bool {
		var q Question
		q, err = parseQuestion(v, len(call.Questions)+1)
		call.Questions = append(call.Questions, q)
		return err == nil
	})
	if err != nil {
		return Call{}, err
	}
	if err := call.Validate(limits); err != nil {
		return Call{}, err
	}
	return call, nil
}

func tooDeep() error { return &InputError{Err: ErrTooDeep, Detail: read.DepthLimit} }

// questionList finds the array of questions, inside a JSON string if need be.
func questionList(root gjson.Result) (gjson.Result, error) {
	list, ok := read.Embedded(read.Field(root, "questions"))
	if !ok {
		return list, &InputError{Err: ErrInvalidJSON, Detail: "questions is a string that does not hold a JSON array"}
	}
	if !list.Exists() || list.Type == gjson.Null {
		return list, &InputError{Err: ErrNoQuestions}
	}
	if !list.IsArray() {
		return list, wrongType(0, 0, "questions", "an array", list)
	}
	return list, nil
}

func parseQuestion(v gjson.Result, pos int) (Question, error) {
	var q Question
	if !v.IsObject() {
		return q, wrongType(pos, 0, "question", "an object", v)
	}
	var options gjson.Result
	var err error
	v.ForEach(func(k, v gjson.Result) bool {
		switch k.Str {
		case "question":
			q.Text, err = text(v, pos, 0, "question")
		case "header":
			q.Header, err = text(v, pos, 0, "header")
		case "multiSelect":
			q.MultiSelect, err = flag(v, pos)
		case "options":
			options = v
		}
		return err == nil
	})
	if err != nil {
		return q, err
	}
	q.Options, err = parseOptions(options, pos)
	return q, err
}

func parseOptions(v gjson.Result, question int) ([]Option, error) {
	if !v.Exists() || v.Type == gjson.Null {
		return nil, nil
	}
	if !v.IsArray() {
		return nil, wrongType(question, 0, "options", "an array", v)
	}
	var options []Option
	var err error
	v.ForEach(func(_, v gjson.Result) bool {
		var o Option
		o, err = parseOption(v, question, len(options)+1)
		options = append(options, o)
		return err == nil
	})
	return options, err
}

func parseOption(v gjson.Result, question, pos int) (Option, error) {
	if v.Type == gjson.String {
		return Option{Label: v.Str}, wholeLabel(v, question, pos)
	}
	var o Option
	if !v.IsObject() {
		return o, wrongType(question, pos, "option", "an object or a string", v)
	}
	var err error
	v.ForEach(func(k, v gjson.Result) bool {
		switch k.Str {
		case "label":
			if o.Label, err = text(v, question, pos, "label"); err == nil {
				err = wholeLabel(v, question, pos)
			}
		case "description":
			o.Description, err = text(v, question, pos, "description")
		case "preview":
			o.Preview, err = text(v, question, pos, "preview")
		}
		return err == nil
	})
	return o, err
}

// wholeLabel refuses a label that is no text.
func wholeLabel(v gjson.Result, question, option int) error {
	if read.Halved(v.Raw) {
		return &InputError{question, option, ErrHalfLabel, shorten(v.Raw)}
	}
	return nil
}

func text(v gjson.Result, question, option int, name string) (string, error) {
	switch v.Type {
	case gjson.String:
		return v.Str, nil
	case gjson.Null:
		return "", nil
	}
	return "", wrongType(question, option, name, "a string", v)
}

// flag reads a boolean; models at times write it as a string.
func flag(v gjson.Result, question int) (bool, error) {
	switch {
	case v.Type == gjson.True || v.Str == "true":
		return true, nil
	case v.Type == gjson.False || v.Type == gjson.Null || v.Str == "false":
		return false, nil
	}
	return false, wrongType(question, 0, "multiSelect", "true or false", v)
}

func wrongType(question, option int, name, want string, got gjson.Result) error {
	return &InputError{question, option, ErrWrongType, fmt.Sprintf("%s must be %s, got %s", name, want, read.Kind(got))}
}

// Validate checks the call against the limits. It returns the first thing
// that is wrong, as an [InputError].
func (c Call) Validate(limits Limits) error {
	if len(c.Questions) == 0 {
		return &InputError{Err: ErrNoQuestions}
	}
	if most := limit(limits.MaxQuestions, MaxQuestions, read.MaxQuestions); len(c.Questions) > most {
		return &InputError{Err: ErrTooManyQuestions, Detail: fmt.Sprintf("at most %d, got %d", most, len(c.Questions))}
	}
	for i := range c.Questions {
		q := &c.Questions[i]
		if err := q.validate(i+1, limits); err != nil {
			return err
		}
		if limits.RepeatQuestions {
			continue
		}
		for j := range i {
			if c.Questions[j].Text == q.Text {
				return &InputError{Question: i + 1, Err: ErrDuplicateQuestion, Detail: fmt.Sprintf("same as question %d", j+1)}
			}
		}
	}
	return nil
}

func (q *Question) validate(pos int, limits Limits) error {
	if clean.Blank(q.Text) {
		return &InputError{Question: pos, Err: ErrEmptyQuestion}
	}
	if limits.RequireHeader && clean.Blank(q.Header) {
		return &InputError{Question: pos, Err: ErrEmptyHeader}
	}
	if err := q.countOptions(pos, limits); err != nil {
		return err
	}
	seen := make(map[string]struct{}, len(q.Options))
	for i, o := range q.Options {
		if clean.Blank(o.Label) {
			return &InputError{Question: pos, Option: i + 1, Err: ErrEmptyLabel}
		}
		if _, dup := seen[o.Label]; dup {
			return &InputError{pos, i + 1, ErrDuplicateLabel, fmt.Sprintf("%q", o.Label)}
		}
		seen[o.Label] = struct{}{}
	}
	return nil
}

func (q *Question) countOptions(pos int, limits Limits) error {
	n := len(q.Options)
	if n == 0 && limits.FreeText {
		return nil
	}
	least, most := limit(limits.MinOptions, MinOptions, 1), limit(limits.MaxOptions, MaxOptions, read.MaxOptions)
	if least <= n && n <= most {
		return nil
	}
	want := fmt.Sprintf("%d to %d", least, most)
	if limits.MaxOptions < 0 && n < least {
		want = fmt.Sprintf("at least %d", least)
	}
	return &InputError{Question: pos, Err: ErrOptionCount, Detail: fmt.Sprintf("expected %s, got %d", want, n)}
}
