package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// answerFlags are answers given beforehand.
type answerFlags struct {
	inline, file string
	given        bool   // inline was given, if only as an empty string
	strict       bool   // what is none of the options is refused
	content      []byte // of the file, once it was read: stdin is read once
}

func (a *answerFlags) flags(fs *flagSet) {
	fs.Func("answers", "answer without asking: a `JSON` array with one entry per question, or an object keyed by question text. A number picks an option; a string is a label, your own words, or cancel; a list picks several", func(v string) error {
		a.inline, a.given = v, true
		return nil
	})
	fs.StringVar(&a.file, "answers-file", "", "`file` with such JSON")
	fs.BoolVar(&a.strict, "strict", false, "refuse answers that match no option; own words are then {\"text\":\"words\"}")
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
		if a.content == nil {
			a.content, err = readInput(a.file, "the answers", s)
		}
		return a.content, true, err
	}
	return nil, false, nil
}

// outcome is what the answers that were given make of a call. One of them may be
// the word that dismisses it. What is none of the options is told to the person.
func (a *answerFlags) outcome(c convert.Call, data []byte, errOut io.Writer) (convert.Outcome, error) {
	answers, err := c.ReadAnswers(data)
	switch {
	case errors.Is(err, convert.ErrCancelled):
		return cancelled, nil
	case err != nil:
		return convert.Outcome{}, usagef("%s: %w", a.name(), a.locate(data, err))
	}
	for _, text := range c.Words(data) {
		text = clean.Truncate(clean.Line(text), 60)
		if a.strict {
			return convert.Outcome{}, usagef("%s: %q matches no option; with --strict, write your own words as {\"text\":\"…\"}", a.name(), text)
		}
		fmt.Fprintf(errOut, "acp-bridge: %q matches no option: taken as your own words\n", text)
	}
	return convert.Outcome{Status: convert.Answered, Answers: answers}, nil
}

// forCall gives the answers to the one call that there is; nil means that none
// were given.
func (a *answerFlags) forCall(s streams) (func(convert.Call) (convert.Outcome, error), error) {
	data, given, err := a.read(s)
	if err != nil || !given {
		return nil, err
	}
	return func(c convert.Call) (convert.Outcome, error) { return a.outcome(c, data, s.Err) }, nil
}

// forCalls gives each call its part of the answers; nil means that none were
// given.
func (a *answerFlags) forCalls(s streams) (func(convert.Call) (convert.Outcome, error), error) {
	l, err := a.list(s)
	if err != nil || l == nil {
		return nil, err
	}
	return func(c convert.Call) (convert.Outcome, error) {
		data, err := l.take(c)
		if err != nil { // it says what is missing, or does not fit
			return convert.Outcome{}, usagef("%s: %w", l.flags.name(), err)
		}
		return l.flags.outcome(c, data, l.errOut)
	}, nil
}

// answerList are answers given beforehand for all that will be asked: each
// question takes the next one, or that of its text.
type answerList struct {
	flags  *answerFlags
	inTurn []json.RawMessage
	byText []byte // the object, nil without
	errOut io.Writer
}

// list reads the answers that were given; nil means that none were.
func (a *answerFlags) list(s streams) (*answerList, error) {
	data, given, err := a.read(s)
	if err != nil || !given {
		return nil, err
	}
	l := &answerList{flags: a, errOut: s.Err}
	if json.Unmarshal(data, &l.inTurn) == nil && l.inTurn != nil {
		return l, nil
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(data, &object) != nil || object == nil {
		return nil, usagef("%s: expected a JSON array with one answer per question, or an object keyed by question text", a.name())
	}
	var none convert.Call
	if _, err := none.AnswersOf(data); err != nil {
		return nil, usagef("%s: %w", a.name(), err)
	}
	l.byText = data
	return l, nil
}

// take is the array of those that are the call's.
func (l *answerList) take(c convert.Call) ([]byte, error) {
	if l.byText != nil {
		return c.AnswersOf(l.byText)
	}
	list := l.inTurn[:min(len(c.Questions), len(l.inTurn))]
	l.inTurn = l.inTurn[len(list):]
	if len(list) == 0 {
		return []byte("[]"), nil
	}
	return json.Marshal(list)
}

// locate says where in the answers an error is, if that helps: a file has lines.
func (a *answerFlags) locate(data []byte, err error) error {
	if a.given || !errors.Is(err, convert.ErrInvalidJSON) {
		return err
	}
	return fmt.Errorf("%s: %w", position(a.file, data, badByte(data)), err)
}

var cancelled = convert.Outcome{Status: convert.Cancelled, Reason: convert.CancelMessage}

// whoAmI is the person who runs the command, for others who want to answer, too.
func whoAmI() string {
	return cmp.Or(os.Getenv("USER"), os.Getenv("USERNAME"), "somebody")
}
