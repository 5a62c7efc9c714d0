package adapter

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Static gives the same outcome to every call, for tests and dry runs. Answers
// are used when Err is nil.
type Static struct {
	Answers []convert.Answer
	Err     error
}

// Ask implements [Resolver].
func (s Static) Ask(_ context.Context, c convert.Call) (convert.Outcome, error) {
	if s.Err != nil {
		return settle(c, convert.Outcome{}, s.Err)
	}
	return settle(c, convert.Outcome{Status: convert.Answered, Answers: s.Answers}, nil)
}

// Func makes a [Resolver] of a function that returns one answer per question,
// or an error; [convert.ErrCancelled] and [convert.ErrDeclined] stand for the
// user's choice, anything else is a failure.
type Func func(ctx context.Context, c convert.Call) ([]convert.Answer, error)

// Ask implements [Resolver].
func (f Func) Ask(ctx context.Context, c convert.Call) (convert.Outcome, error) {
	answers, err := f(ctx, c)
	return settle(c, convert.Outcome{Status: convert.Answered, Answers: answers}, err)
}

// settle makes outcome and error of a resolver agree, and turns answers that
// do not fit the questions into a failure.
func settle(c convert.Call, o convert.Outcome, err error) (convert.Outcome, error) {
	switch {
	case err == nil:
		if err := o.Check(c); err != nil {
			return failed(err.Error())
		}
		o = o.InOrder(c)
	case o.Status != 0 && o.Status != convert.Answered: // says more than the error
	case errors.Is(err, convert.ErrCancelled):
		o = convert.Outcome{Status: convert.Cancelled, Reason: convert.CancelMessage}
	case errors.Is(err, convert.ErrDeclined):
		o = convert.Outcome{Status: convert.Declined, Reason: convert.DeclineMessage}
	case disconnected(err):
		o = convert.Outcome{Status: convert.Disconnected, Reason: convert.GoneMessage}
	default:
		o = convert.Outcome{Status: convert.Failed, Reason: err.Error()}
	}
	return o, o.Err()
}

// Lines asks on a writer and reads answers from a reader, a line for each
// question: the number of an option (numbers apart by commas for a
// multi-select question), a label, `other` followed by a text, or, for a
// question without options, the text itself. An empty line cancels the call,
// as does the end of the input.
//
// Ask returns when its context ends. A line that is typed after that belongs to
// the next call.
type Lines struct {
	In  io.Reader
	Out io.Writer

	once  sync.Once
	lines chan string // closed at the end of the input
	err   error       // why it ended; set before lines is closed
}

// read hands on lines for as long as the Lines lives.
func (l *Lines) read() {
	scanner := bufio.NewScanner(l.In)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		l.lines <- scanner.Text()
	}
	l.err = scanner.Err()
	close(l.lines)
}

// Ask implements [Resolver].
func (l *Lines) Ask(ctx context.Context, c convert.Call) (convert.Outcome, error) {
	l.once.Do(func() {
		l.lines = make(chan string)
		go l.read()
	})
	answers := make([]convert.Answer, len(c.Questions))
	for i, q := range c.Questions {
		a, err := l.askOne(ctx, q)
		if err != nil {
			return settle(c, convert.Outcome{}, err)
		}
		answers[i] = a
	}
	return settle(c, convert.Outcome{Status: convert.Answered, Answers: answers}, nil)
}

func (l *Lines) askOne(ctx context.Context, q convert.Question) (convert.Answer, error) {
	l.show(q)
	for {
		line, err := l.readLine(ctx)
		if err != nil {
			return convert.Answer{}, err
		}
		a, problem, err := readLineAnswer(q, line)
		if err != nil || problem == "" {
			return a, err
		}
		fmt.Fprintf(l.Out, "%s\n> ", problem)
	}
}

func (l *Lines) show(q convert.Question) {
	if header := clean.Line(q.Header); header != "" {
		fmt.Fprintf(l.Out, "[%s] ", header)
	}
	fmt.Fprintln(l.Out, clean.Block(q.Text))
	for i, o := range q.Options {
		fmt.Fprintf(l.Out, "  %d. %s\n", i+1, clean.Line(o.Label))
		if o.Description != "" {
			fmt.Fprintf(l.Out, "     %s\n", clean.Line(o.Description))
		}
	}
	help := "a number, or: other <text>; an empty line cancels"
	switch {
	case len(q.Options) == 0:
		help = "your answer; an empty line cancels"
	case q.MultiSelect:
		help = "numbers such as 1,3, or: other <text>; an empty line cancels"
	}
	fmt.Fprintf(l.Out, "(%s)\n> ", help)
}

func (l *Lines) readLine(ctx context.Context) (string, error) {
	select {
	case line, ok := <-l.lines:
		switch {
		case ok:
			return line, nil
		case l.err != nil:
			return "", l.err
		}
		return "", convert.ErrCancelled
	case <-ctx.Done():
		return "", withdrawn(context.Cause(ctx)).Err()
	}
}

// readLineAnswer reads one line; problem says what to type instead when it is
// no answer.
func readLineAnswer(q convert.Question, line string) (a convert.Answer, problem string, err error) {
	line = strings.TrimSpace(line)
	if line == "" {
		return a, "", convert.ErrCancelled
	}
	if len(q.Options) == 0 {
		return convert.Answer{Text: line}, "", nil
	}
	said := convert.ReadMessage(q, line)
	if len(said.Picks) > 0 {
		for _, i := range said.Picks {
			a.Selected = append(a.Selected, q.Options[i].Label)
		}
		return a, "", nil
	}
	if word, text, _ := strings.Cut(line, " "); strings.EqualFold(word, "other") && text != "" {
		return convert.Answer{Text: strings.TrimSpace(text)}, "", nil
	}
	if said.Unclear != "" {
		return a, said.Unclear, nil
	}
	return a, "Type the number of an option, or `other` and your own answer.", nil
}
