package pending

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/acp-bridge/acp-bridge/adapter/desk"
	"github.com/acp-bridge/acp-bridge/convert"
)

// What can be wrong with a file. Errors that wrap these name the file, and the
// question where it is one.
var (
	// ErrDamaged means that a file does not hold questions. It is left as it
	// is, for the person who edited it last.
	ErrDamaged = errors.New("damaged")
	// ErrAnswer means that an answer in a file does not fit its question.
	ErrAnswer = errors.New("an answer cannot be used")
	// ErrNotFound means that no file has the questions that were looked for.
	ErrNotFound = errors.New("no open question")
	// ErrAmbiguous means that several files fit.
	ErrAmbiguous = errors.New("several questions are open")
	// ErrForeign means that answers in a file do not count: it was not posted by
	// this user's acp-bridge.
	ErrForeign = errors.New("answers that are not used")
	// ErrChanged means that somebody else changed a file meanwhile.
	ErrChanged = errors.New("somebody else has changed it in the meantime")
	// ErrGone means that a person does not want the questions of a file, see
	// [Store.Remove], or, to somebody who would change it, that it is not there.
	ErrGone = errors.New("the questions are no longer open")
)

// File is a call whose questions wait in a file.
type File struct {
	// Path is where the file is, relative to the working directory if the
	// store's Dir is.
	Path string
	// ID is the name of the asking. It was minted and says nothing of the
	// questions.
	ID      string
	Session string
	// Agent says who asked, as far as that is known.
	Agent string
	// Asked is when the file was written, Changed when it was last changed.
	Asked, Changed time.Time
	Questions      []convert.Question
	// Answers has one entry per question; one that is not answered yet is the
	// zero Answer.
	Answers []convert.Answer
	// Cancelled means that a person wrote `cancel` for an answer, or dismissed
	// the questions with [Store.Dismiss]: all of them are dismissed.
	Cancelled bool
	// By says who gave the answers, where that is known.
	By string
	// Foreign says why the answers do not count, whatever they are: an error
	// that wraps [ErrForeign]. It is nil for a file that was posted by this
	// user's acp-bridge and is this user's.
	Foreign error
	// Err says why the file cannot be used: [ErrDamaged] or [ErrAnswer].
	Err error

	content string   // the hash of what was read
	records *records // of its folder, which may be gone
}

// Answered reports whether every question has an answer.
func (f *File) Answered() bool { return f.Err == nil && !f.Cancelled && f.Left() == 0 }

// Settled reports whether a person has answered every question, or dismissed
// them.
func (f *File) Settled() bool { return f.Cancelled || f.Answered() }

// Untouched reports whether nobody has begun to answer.
func (f *File) Untouched() bool { return f.Err == nil && !f.Cancelled && f.Left() == len(f.Questions) }

// SettledError says how the questions ended, to those who want to answer, too.
func (f *File) SettledError() error { return &desk.SettledError{Settlement: f.settlement()} }

// settlement is how the questions ended, by whom and when.
func (f *File) settlement() desk.Settlement {
	return desk.Settlement{Outcome: f.outcome(), By: cmp.Or(f.By, "hand"), At: f.Changed}
}

// Left is how many questions have no answer yet.
func (f *File) Left() int {
	n := len(f.Questions) - len(f.Answers)
	for _, a := range f.Answers {
		if a.Empty() {
			n++
		}
	}
	return n
}

// Call is the call that waits, without the input it came in.
func (f *File) Call() convert.Call {
	return convert.Call{Session: f.Session, ID: f.ID, Questions: f.Questions}
}

// outcome is how a person ended the questions.
func (f *File) outcome() convert.Outcome {
	if f.Cancelled {
		return convert.Outcome{Status: convert.Cancelled, Reason: convert.CancelMessage}
	}
	return convert.Outcome{Status: convert.Answered, Answers: f.Answers}
}

func damaged(path string, err error) error {
	return fmt.Errorf("%s is %w: %w", path, ErrDamaged, err)
}
