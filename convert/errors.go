package convert

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// What can be wrong with a call. [Parse] and [Call.Validate] wrap these in an
// [InputError] that names the question and the option by position.
var (
	// ErrInvalidJSON means that the input is not JSON.
	ErrInvalidJSON = errors.New("input is not valid JSON")
	// ErrTooDeep means that the input nests deeper than any person or agent
	// writes it, so that a result which holds it could not be encoded.
	ErrTooDeep = errors.New("input nests too deep")
	// ErrWrongType means that a field holds another JSON type than expected.
	ErrWrongType = errors.New("wrong type")
	// ErrNoQuestions means that the call has no questions.
	ErrNoQuestions = errors.New("at least one question is required")
	// ErrTooManyQuestions means that the call has more questions than the
	// limits allow.
	ErrTooManyQuestions = errors.New("too many questions")
	// ErrEmptyQuestion means that a question has no text.
	ErrEmptyQuestion = errors.New("question text is required")
	// ErrEmptyHeader means that a question has no header although the limits
	// require one.
	ErrEmptyHeader = errors.New("header is required")
	// ErrOptionCount means that a question has too few or too many options.
	ErrOptionCount = errors.New("wrong number of options")
	// ErrEmptyLabel means that an option has no label.
	ErrEmptyLabel = errors.New("option label is required")
	// ErrHalfLabel means that a label holds half of a character: a surrogate
	// without its other half. It can be sent to nobody as it is, so that the
	// answer would be another label than the one that was given.
	ErrHalfLabel = errors.New("option label holds half of a character")
	// ErrDuplicateLabel means that two options of a question share a label, so
	// that an answer could not say which was meant.
	ErrDuplicateLabel = errors.New("option label is used twice")
	// ErrDuplicateQuestion means that two questions share their text, so that
	// a map from question to answer could not hold both.
	ErrDuplicateQuestion = errors.New("question text is used twice")
)

// What can be wrong with answers that were written down beforehand, see
// [Call.ReadAnswers].
var (
	// ErrNoAnswer means that a question was left without an answer.
	ErrNoAnswer = errors.New("no answer given")
	// ErrBadAnswer means that an answer does not fit its question.
	ErrBadAnswer = errors.New("the answer does not fit")
)

// What can be wrong with a reply, or keep a call from being answered.
var (
	// ErrProtocol means that the client's reply is none that the protocol
	// allows: it is neither an answer nor the user's refusal.
	ErrProtocol = errors.New("invalid reply")
	// ErrDeclined means that the user chose not to answer.
	ErrDeclined = errors.New("user declined to answer")
	// ErrCancelled means that the user dismissed the question.
	ErrCancelled = errors.New("user cancelled the question")
	// ErrWithdrawn means that the question was taken away, which nobody chose. It is
	// also the cause of a context that ends because whoever asked does not want to
	// know any more: with any other one a question may stay open for whoever asks it
	// again.
	ErrWithdrawn = errors.New("the question was withdrawn")
	// ErrDisconnected means that the client went away.
	ErrDisconnected = errors.New("client disconnected")
	// ErrFailed means that the question could not be asked or answered for a
	// reason that is not the user's.
	ErrFailed = errors.New("question could not be answered")
)

// InputError says what is wrong with a call, and where.
type InputError struct {
	// Question and Option count from 1; 0 means the whole call or the whole
	// question.
	Question, Option int
	// Err is one of the sentinel errors of this package.
	Err error
	// Detail says what was expected and what came.
	Detail string
}

// Error returns one line such as
//
//	question 2, option 3: option label is used twice: "Redis"
func (e *InputError) Error() string {
	text := e.Err.Error()
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	switch {
	case e.Question == 0:
		return text
	case e.Option == 0:
		return fmt.Sprintf("question %d: %s", e.Question, text)
	}
	return fmt.Sprintf("question %d, option %d: %s", e.Question, e.Option, text)
}

// Unwrap returns the sentinel error.
func (e *InputError) Unwrap() error { return e.Err }

// Check reports answers that cannot belong to the call: more than there are
// questions, none at all, picks that are no labels of their question, several
// picks where one is taken. The error matches [ErrFailed].
func (o Outcome) Check(c Call) error {
	if o.Status != Answered {
		return nil
	}
	if len(o.Answers) > len(c.Questions) {
		return fmt.Errorf("%w: %d answers for %d questions", ErrFailed, len(o.Answers), len(c.Questions))
	}
	empty := true
	for i, a := range o.Answers {
		q := &c.Questions[i]
		if len(a.Selected) > 0 && a.Text != "" && !q.MultiSelect {
			return fmt.Errorf("%w: question %d takes an option or a text, got both (a remark is a note)", ErrFailed, i+1)
		}
		if len(a.Selected) > 1 && !q.MultiSelect {
			return fmt.Errorf("%w: question %d takes one option, got %d", ErrFailed, i+1, len(a.Selected))
		}
		for _, label := range a.Selected {
			if !q.HasLabel(label) {
				return fmt.Errorf("%w: question %d has no option %q", ErrFailed, i+1, label)
			}
		}
		empty = empty && a.Empty()
	}
	if empty {
		return fmt.Errorf("%w: no question has an answer", ErrFailed)
	}
	return nil
}

// Fits reports words that nobody would get, or take as they were meant: all to a question
// that takes only its options, and those beside an option that does something else. They
// may be a condition. The error wraps [ErrBadAnswer] and says what was understood. Of a
// permission it says nothing: words beside a no are its reason.
func (q Question) Fits(a Answer) error {
	wrong := ""
	switch {
	case a.Text == "" && a.Note == "":
	case q.Closed:
		wrong = "it accepts only its options"
	case slices.ContainsFunc(q.Options, func(o Option) bool { return o.Effect != 0 && slices.Contains(a.Selected, o.Label) }):
		wrong = "this option takes no words beside it"
	}
	if wrong == "" {
		return nil
	}
	return fmt.Errorf("%w: %s, got %q", ErrBadAnswer, wrong, clean.Truncate(clean.Line(WithNote(q.AnswerText(a), a.Note)), 200))
}

// InOrder returns the outcome with the picks of each answer in option order,
// each once.
func (o Outcome) InOrder(c Call) Outcome {
	answers := slices.Clone(o.Answers)
	for i := range min(len(answers), len(c.Questions)) {
		var labels []string
		for _, option := range c.Questions[i].Options {
			if slices.Contains(answers[i].Selected, option.Label) {
				labels = append(labels, option.Label)
			}
		}
		answers[i].Selected = labels
	}
	o.Answers = answers
	return o
}

// HasLabel reports whether an option has this label.
func (q *Question) HasLabel(label string) bool {
	return slices.ContainsFunc(q.Options, func(o Option) bool { return o.Label == label })
}

// Err returns nil for an answered call and otherwise an error that matches
// [ErrDeclined], [ErrCancelled], [ErrDisconnected], [ErrWithdrawn] or [ErrFailed]
// and carries the reason.
func (o Outcome) Err() error {
	if o.Status == Answered {
		return nil
	}
	kind := cmp.Or(kinds[o.Status], ErrFailed)
	if o.Reason == "" || strings.EqualFold(o.Reason, kind.Error()) {
		return kind
	}
	return &outcomeError{kind: kind, reason: o.Reason}
}

// kinds are the errors of calls that have no answer; all others have failed.
var kinds = map[Status]error{
	Declined: ErrDeclined, Cancelled: ErrCancelled, Disconnected: ErrDisconnected, Withdrawn: ErrWithdrawn,
}

type outcomeError struct {
	kind   error
	reason string
}

func (e *outcomeError) Error() string { return e.kind.Error() + ": " + e.reason }
func (e *outcomeError) Unwrap() error { return e.kind }

// shorten bounds what a peer gets into a message through us.
func shorten(s string) string { return clean.Truncate(clean.Line(s), 80) }
