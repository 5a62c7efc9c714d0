package adapter

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
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
		return Settle(c, convert.Outcome{}, s.Err)
	}
	return Settle(c, convert.Outcome{Status: convert.Answered, Answers: s.Answers}, nil)
}

// Func makes a [Resolver] of a function that returns one answer per question,
// or an error; [convert.ErrCancelled] and [convert.ErrDeclined] stand for the
// user's choice, anything else is a failure.
type Func func(ctx context.Context, c convert.Call) ([]convert.Answer, error)

// Ask implements [Resolver].
func (f Func) Ask(ctx context.Context, c convert.Call) (convert.Outcome, error) {
	answers, err := f(ctx, c)
	return Settle(c, convert.Outcome{Status: convert.Answered, Answers: answers}, err)
}

// Settle makes outcome and error of a resolver agree, and turns answers that
// do not fit the questions into a failure. It is for whoever calls a [Resolver]
// of somebody else's.
func Settle(c convert.Call, o convert.Outcome, err error) (convert.Outcome, error) {
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
		o = convert.Outcome{Status: convert.Failed, Reason: Words(err)}
	}
	return o, o.Err()
}

// Lines asks on a writer and reads answers from a reader, a line for each
// question, as [convert.ReadReply] understands it: a number, a label, the user's
// own words, or `cancel`. A line that says nothing is asked for again. The end
// of the input is that nobody is there any more, not the user's cancel: the
// outcome is [convert.Disconnected].
//
// Ask returns when its context ends. A line that is typed after that belongs to
// the next call. A Lines that is no longer used is closed, see [Lines.Close].
type Lines struct {
	In  io.Reader
	Out io.Writer

	once  sync.Once
	end   sync.Once
	done  chan struct{} // closed by Close
	lines chan string   // closed at the end of the input
	err   error         // why it ended; set before lines is closed
}

// start begins to read, once.
func (l *Lines) start() {
	l.once.Do(func() {
		l.lines, l.done = make(chan string), make(chan struct{})
		go l.read()
	})
}

// Close ends the reading of In, and closes it if it is an [io.Closer]: a Read
// that waits has to return. Calls that are open end as at the end of the input.
func (l *Lines) Close() error {
	l.start()
	l.end.Do(func() { close(l.done) })
	if in, ok := l.In.(io.Closer); ok {
		return in.Close()
	}
	return nil
}

// read hands on lines until the input ends.
func (l *Lines) read() {
	defer close(l.lines)
	scanner := bufio.NewScanner(l.In)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		select {
		case l.lines <- scanner.Text():
		case <-l.done:
			return
		}
	}
	select {
	case <-l.done: // which is why the input ended
	default:
		l.err = scanner.Err()
	}
}

// Ask implements [Resolver].
func (l *Lines) Ask(ctx context.Context, c convert.Call) (convert.Outcome, error) {
	l.start()
	answers := make([]convert.Answer, len(c.Questions))
	for i, q := range c.Questions {
		a, err := l.askOne(ctx, q)
		if err != nil {
			return Settle(c, convert.Outcome{}, err)
		}
		answers[i] = a
	}
	return Settle(c, convert.Outcome{Status: convert.Answered, Answers: answers}, nil)
}

func (l *Lines) askOne(ctx context.Context, q convert.Question) (convert.Answer, error) {
	l.show(q)
	for {
		line, err := l.readLine(ctx)
		if err != nil {
			return convert.Answer{}, err
		}
		switch said := convert.ReadReply(q, line); {
		case said.Cancel:
			return convert.Answer{}, convert.ErrCancelled
		case said.Unclear == "":
			return said.Answer(q), nil
		default:
			fmt.Fprintf(l.Out, "%s\n> ", said.Unclear)
		}
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
	help := "a number, a label or your own words; cancel dismisses the question"
	switch {
	case len(q.Options) == 0:
		help = "your answer; cancel dismisses the question"
	case q.MultiSelect:
		help = "numbers such as 1,3, labels or your own words; cancel dismisses the question"
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
		return "", convert.ErrDisconnected
	case <-l.done:
		return "", convert.ErrDisconnected
	case <-ctx.Done():
		return "", Withdrawn(ctx).Err()
	}
}
