package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/acp-bridge/acp-bridge/adapter/desk/files"
	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
)

// answerFlags are answers given beforehand.
type answerFlags struct {
	inline, file string
	given        bool // inline was given, if only as an empty string
}

func (a *answerFlags) flags(fs *flagSet) {
	fs.Func("answers", "answer without asking: a `JSON` array with one entry for each\nquestion, or an object by question text. A number is the option\nat that place; a string is a label, your own words, or cancel;\nseveral of them are a list", func(v string) error {
		a.inline, a.given = v, true
		return nil
	})
	fs.StringVar(&a.file, "answers-file", "", "`file` with such JSON")
}

// name is the flag that was used.
func (a *answerFlags) name() string {
	if a.given {
		return "--answers"
	}
	return "--answers-file"
}

// read returns the answers as they were given, if they were.
func (a *answerFlags) read(s streams) (data []byte, given bool, err error) {
	switch {
	case a.given && a.file != "":
		return nil, false, misused("--answers and --answers-file cannot both be given")
	case a.given:
		return []byte(a.inline), true, nil
	case a.file != "":
		data, err = readInput(a.file, "the answers", s)
		return data, true, err
	}
	return nil, false, nil
}

// outcome is what the answers that were given make of a call. One of them may be
// the word that dismisses it.
func (a *answerFlags) outcome(c convert.Call, data []byte) (convert.Outcome, error) {
	answers, err := convert.ReadAnswers(c, data)
	switch {
	case errors.Is(err, convert.ErrCancelled):
		return cancelled, nil
	case err != nil:
		return convert.Outcome{}, usagef("%s: %w", a.name(), a.locate(data, err))
	}
	return convert.Outcome{Status: convert.Answered, Answers: answers}, nil
}

// locate says where in the answers an error is, if that helps: a file has lines.
func (a *answerFlags) locate(data []byte, err error) error {
	if a.given || !errors.Is(err, convert.ErrInvalidJSON) {
		return err
	}
	return fmt.Errorf("%s: %w", position(a.file, data, badByte(data)), err)
}

var cancelled = convert.Outcome{Status: convert.Cancelled, Reason: convert.CancelMessage}

func answeredNow(answers []convert.Answer, mode string) dialect.Reply {
	return dialect.Reply{
		Outcome:    convert.Outcome{Status: convert.Answered, Answers: answers},
		AnsweredAt: time.Now(),
		Mode:       mode,
	}
}

// whoAmI is the person who runs the command, for others who want to answer, too.
func whoAmI() string {
	return firstOf(os.Getenv("USER"), os.Getenv("USERNAME"), "somebody")
}

// fromFile is the reply that a person wrote into a file.
func fromFile(f *files.File, mode string) dialect.Reply {
	r := answeredNow(f.Answers, mode)
	if f.Cancelled {
		r.Outcome = cancelled
	}
	r.AnsweredAt = f.Changed
	return r
}
