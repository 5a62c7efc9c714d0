package askuserquestion

import (
	"context"
	"errors"
	"io"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/terminal/lineask"
)

// StdinResolver asks on Out and reads the answers from In, a line for each
// question: a number, numbers apart by commas for a multi-select question, or
// the word other and a text, and whatever else [convert.Question.ReadReply] takes. The word
// back returns to the question before, and an empty line cancels. It reads no
// further than the last answer; when ctx ends, a line that is awaited then is
// lost.
//
// It is for examples and trials. Package adapter/terminal draws a picker.
type StdinResolver struct {
	In  io.Reader
	Out io.Writer
}

// Ask implements [Resolver].
func (s StdinResolver) Ask(ctx context.Context, req Request) ([]Answer, error) {
	asker := lineask.Asker{Out: s.Out, EmptyCancels: true, Next: func(string) (string, error) { return s.line(ctx) }}
	call := shown(req)
	said, err := asker.Ask(call.Questions)
	if errors.Is(err, convert.ErrCancelled) {
		return nil, ErrResolverCancelled
	}
	if err != nil {
		return nil, err
	}
	answers := make([]Answer, len(said))
	for i, a := range said {
		answers[i] = Answer{Question: req.Questions[i].Question, Selected: a.Selected, Other: other(call, i, a)}
	}
	return answers, nil
}

// line waits for a line. The end of the input is an empty one.
func (s StdinResolver) line(ctx context.Context) (line string, err error) {
	read := make(chan struct{})
	var text string
	var failed error
	go func() {
		defer close(read)
		text, failed = readLine(s.In)
	}()
	select {
	case <-read:
		if errors.Is(failed, io.EOF) {
			failed = nil
		}
		return text, failed
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// readLine reads up to the end of a line and no further.
func readLine(in io.Reader) (string, error) {
	var line []byte
	for one := make([]byte, 1); ; {
		n, err := in.Read(one)
		line = append(line, one[:n]...)
		if err != nil || n == 1 && one[0] == '\n' {
			return string(line), err
		}
	}
}
