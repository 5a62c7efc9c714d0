package askuserquestion

import (
	"errors"
	"fmt"

	"github.com/acp-bridge/acp-bridge/convert"
)

// What can be wrong with a call. [Validate] wraps these and says where.
var (
	// ErrNoQuestions means that there is no question.
	ErrNoQuestions = errors.New("askuserquestion: questions must be a non-empty array")
	// ErrTooManyQuestions means that there are more than four.
	ErrTooManyQuestions = errors.New("askuserquestion: maximum 4 questions allowed")
	// ErrEmptyQuestion means that a question has no text.
	ErrEmptyQuestion = errors.New("askuserquestion: each question must have non-empty question text")
	// ErrEmptyHeader means that a question has no header.
	ErrEmptyHeader = errors.New("askuserquestion: each question must have a non-empty header")
	// ErrOptionCount means that a question has not two to four options.
	ErrOptionCount = errors.New("askuserquestion: each question must have 2-4 options")
	// ErrEmptyLabel means that an option has no label.
	ErrEmptyLabel = errors.New("askuserquestion: each option must have a non-empty label")
	// ErrDuplicateLabel means that two options of a question share a label.
	ErrDuplicateLabel = errors.New("askuserquestion: option labels within a question must be unique")
)

// ErrResolverCancelled is what a [Resolver] returns when the user dismisses
// the questions, or does something else instead of answering. The result is
// then [cancelled by user], which is no error.
var ErrResolverCancelled = errors.New("askuserquestion: resolver cancelled by user")

// Validate checks a call against the limits of the tool. The first thing that
// is wrong is returned: one of the errors above, with the place behind it.
func Validate(p Params) error {
	return named(callOf("", p.Questions).Validate(limits))
}

// named puts the name that the error has in this package in front of it.
func named(err error) error {
	for _, pair := range []struct{ theirs, ours error }{
		{convert.ErrNoQuestions, ErrNoQuestions},
		{convert.ErrTooManyQuestions, ErrTooManyQuestions},
		{convert.ErrEmptyQuestion, ErrEmptyQuestion},
		{convert.ErrEmptyHeader, ErrEmptyHeader},
		{convert.ErrOptionCount, ErrOptionCount},
		{convert.ErrEmptyLabel, ErrEmptyLabel},
		{convert.ErrDuplicateLabel, ErrDuplicateLabel},
	} {
		if errors.Is(err, pair.theirs) {
			return fmt.Errorf("%w (%w)", pair.ours, err)
		}
	}
	return err
}
