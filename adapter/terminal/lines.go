package terminal

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/seen"
	"github.com/acp-bridge/acp-bridge/internal/terminal/lineask"
	"github.com/acp-bridge/acp-bridge/internal/terminal/picker"
	"github.com/acp-bridge/acp-bridge/internal/terminal/tty"
)

// lines asks on a device, in lines.
type lines struct {
	d       *tty.Device
	in      *tty.Lines
	typed   bool // by a person, at a terminal
	secret  bool // nobody else may see what is typed
	begun   bool // the next line was, before what it answers was there
	outcome convert.Outcome
}

// askLines asks on a device. gone says that the question before was withdrawn a
// short time ago. index is that of the option picked last.
func askLines(ctx context.Context, d *tty.Device, questions []convert.Question, verbatim, gone bool) (outcome convert.Outcome, index int, err error) {
	l := &lines{d: d, typed: d.Typed() && seen.Hands > 0}
	if l.in, err = d.Lines(ctx); err != nil {
		return convert.Outcome{}, -1, err
	}
	defer l.in.Close()
	asker := lineask.Asker{Out: d.Out, Next: l.next, Verbatim: verbatim}
	if l.typed {
		asker.Before = func() { l.begun = d.Begun() }
	}
	if l.secret = slices.ContainsFunc(questions, lineask.Secret); l.secret {
		defer d.Quiet()()
	}
	if gone {
		if l.typed {
			d.Forget()
		}
		l.print(goneText)
		_, err = l.next(goneText)
	}
	var answers []convert.Answer
	if err == nil {
		answers, err = asker.Ask(questions)
	}
	switch {
	case err == nil:
		return convert.Outcome{Status: convert.Answered, Answers: answers}, asker.Index(), nil
	case errors.Is(err, errEnded):
		return l.outcome, -1, nil
	case errors.Is(err, convert.ErrCancelled):
		return convert.Outcome{Status: convert.Cancelled, Reason: convert.CancelMessage}, -1, nil
	}
	return convert.Outcome{}, -1, err
}

// goneText comes before a question that takes the place of another. The line
// that follows may have been meant for that.
const goneText = "The question before is gone, and there is another one. Press Enter to see it. "

// errEnded means that there is an outcome.
var errEnded = errors.New("ended")

// next waits for a line that was typed when its prompt could be read; where none
// comes there is an outcome.
func (l *lines) next(prompt string) (string, error) {
	var typing seen.Typing
	for {
		if typing.Drawn(time.Now()) {
			l.in.Watch()
		}
		text, since, end, err := l.in.Next()
		if end != nil {
			l.print("\n")
			l.outcome = picker.Ended(*end)
			return "", errEnded
		}
		begun := l.begun && err == nil
		if l.begun = false; begun {
			typing.Shows() // the hands that have ended it may write on
		}
		switch early := begun || l.typed && err == nil && !typing.Counts(since); {
		case early:
			if text = lineask.Told(text, l.secret); text != "" {
				l.print("Typed before the question appeared, so not taken as its answer: " + text + "\n" + prompt)
			}
		case l.typed && err == nil && tty.Cut(text):
			l.print(tty.CutText + "\n" + prompt)
		case l.typed && err == nil && l.d.Followed():
			typing.Shows()
			l.print("Several lines came at once, so none was taken as the answer.\n" + prompt)
		default:
			return text, err
		}
	}
}

func (l *lines) print(s string) { _, _ = io.WriteString(l.d.Out, s) }
